// The layout of a step as its own environment tells it, without asking anybody.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "mapping/layout/step_layout.h"

#include <optional>
#include <string>

namespace distgpu {

// The variables that describe the step itself (SLURM_NODELIST, SLURM_NTASKS and
// their like may be the allocation's).
struct StepEnvironment {
    std::string node_list;       // SLURM_STEP_NODELIST
    std::string tasks_per_node;  // SLURM_STEP_TASKS_PER_NODE
    std::string distribution;    // SLURM_DISTRIBUTION; empty when unset
    std::string plane_size;      // SLURM_DIST_PLANESIZE
    // From Slurm 26.05 on a block step follows the cluster's topology: the order of the switches,
    // or that of slurm.conf, which no variable tells.
    bool topology_order = false;

    bool operator==(const StepEnvironment&) const = default;
};

// Slurm sets SLURM_JOB_SLUID in every process of a job from 26.05 on, over whatever its user
// exported.
StepEnvironment read_step_environment(const Environment& environment);

// Whether the distribution and the release determine how tasks are dealt to several nodes.
bool tells_order(const StepEnvironment& environment);

// Whether this process is a task of srun. The batch script and the shell of salloc are in steps of
// their own.
bool in_step_of_tasks(const Environment& environment);

// The layout, where the environment determines it for certain: one node, cyclic and plane, and
// block without topology_order (no wrong one in 60 random shapes on each of 22.05, 24.11 and
// 26.05). Nothing for arbitrary, whose order the environment does not hold.
// Errors: variables that Slurm did not set so, or that tell of a larger step than `most`, which
// are not expanded.
Result<std::optional<StepLayout>> derive_layout(const StepEnvironment& environment,
                                                StepSize most = max_step_size);

}  // namespace distgpu
