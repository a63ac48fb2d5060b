// Reads the options that determine a plan from an srun line of `distgpu plan` or a batch script.
#pragma once

#include "base/result.h"
#include "mapping/frameworks/framework.h"
#include "slurm/step_shape.h"

namespace distgpu {

// The options of srun or sbatch that matter for a plan, as they were written.
struct StepOptions {
    std::string spec;                    // of --distgpu
    ShapeOptions shape;                  // without topologies
    std::string gpus_per_task;           // --gpus-per-task
    std::string signal;                  // --signal
    std::vector<Error> unknown_options;  // neither Slurm's nor a known plugin's

    bool operator==(const StepOptions&) const = default;
};

// Adds the options in `words`, which begin with srun or sbatch; the last one wins. Skips options
// that do not matter for the plan. Returns the words after the options: the program. Errors: an
// option without its value; an unknown option whose value may be the program; a value that only the
// shell knows; an option with which only Slurm knows how tasks are distributed.
Result<std::vector<std::string>> add_options(const std::vector<std::string>& words,
                                             StepOptions& options);

struct SrunLine {
    std::string spec;
    ShapeOptions shape;
    std::vector<std::string> program;  // and its arguments
    TaskCountSource task_count_source = TaskCountSource::per_node;
    std::vector<Error> left_out;  // options that matter, but are not in the plan
};

// `words`: srun, its options, the program. `job`: the options of the batch script, if any. srun
// inherits them except --cpus-per-task, and sbatch sets the variables $SLURM_NNODES,
// $SLURM_JOB_NUM_NODES, $SLURM_NTASKS, $SLURM_NTASKS_PER_NODE and $SLURM_CPUS_PER_TASK from them.
// For a range of nodes, -N 2-4, the plan is for the fewest, and `left_out` says so. Without -N and
// -w the step has the nodes of the job; without a job, one node, or as many as its tasks need at
// --ntasks-per-node. Errors: as add_options(); no --distgpu.
Result<SrunLine> read_srun_line(std::vector<std::string> words,
                                std::optional<StepOptions> job = std::nullopt);

}  // namespace distgpu
