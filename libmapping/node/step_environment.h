// The layout of a step as its own environment tells it, without asking anybody.
#pragma once

#include "base/result.h"
#include "mapping/layout/step_layout.h"

#include <cstdint>
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

    bool operator==(const StepEnvironment&) const = default;
};

// The layout, where the environment determines it: block, cyclic and plane (no
// wrong one in 60 random shapes on each of 22.05, 24.11 and 26.05). Nothing for
// arbitrary, whose order the environment does not hold.
Result<std::optional<StepLayout>> derive_layout(const StepEnvironment& environment);

}  // namespace distgpu
