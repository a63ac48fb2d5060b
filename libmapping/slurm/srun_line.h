// An srun line, as `distgpu plan -- srun ...` gets it or a batch script has it: what of its options
// decides the plan.
#pragma once

#include "base/result.h"
#include "mapping/frameworks/framework.h"
#include "slurm/step_shape.h"

namespace distgpu {

// The options of srun or sbatch that have a part in a plan, as they were written.
struct StepOptions {
    std::string spec;                // of --distgpu
    ShapeOptions shape;              // without topologies
    std::string gpus_per_task;       // --gpus-per-task
    std::vector<Error> passed_over;  // options that are neither Slurm's nor known of a plugin

    bool operator==(const StepOptions&) const = default;
};

// Adds those of `words`, which begin with the command: srun or sbatch; a later one wins. Those that
// say nothing of the plan are skipped. Returns the words behind them: the program.
// Errors: an option that lacks its value, or of which only its plugin knows whether the program is
// its value; a value that only the shell knows; an option that deals the tasks to the nodes in a
// way that only Slurm knows.
Result<std::vector<std::string>> add_options(const std::vector<std::string>& words,
                                             StepOptions& options);

struct SrunLine {
    std::string spec;
    ShapeOptions shape;
    std::vector<std::string> program;  // and its arguments
    TasksFrom tasks_from = TasksFrom::nodes;
    std::vector<Error> left_out;  // options that would have a part in the plan
};

// `words`: srun, its options, the program. `job`: the options of the batch script around it, which
// srun inherits, all but --cpus-per-task, and from which sbatch sets the variables $SLURM_NNODES,
// $SLURM_JOB_NUM_NODES, $SLURM_NTASKS, $SLURM_NTASKS_PER_NODE and $SLURM_CPUS_PER_TASK; nothing: no
// job. Of a range of nodes, -N 2-4, the plan is that of the fewest, and a line says so.
// Without -N and -w the step is taken to have one node, or as many as its tasks need at
// --ntasks-per-node; in a job, those of the job.
// Errors: as add_options(); no --distgpu.
Result<SrunLine> read_srun_line(std::vector<std::string> words,
                                std::optional<StepOptions> job = std::nullopt);

}  // namespace distgpu
