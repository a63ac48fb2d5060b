// Whether a layout is the one that Slurm started: what SPANK says of this node
// comes from slurmctld, while a carried or derived layout may be wrong or forged.
#pragma once

#include "base/result.h"
#include "mapping/layout/step_layout.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace distgpu {

// This node in the whole step, heterogeneous components counted in.
struct LocalTasks {
    NodeIndex node;
    std::vector<TaskId> tasks;  // in local rank order

    bool operator==(const LocalTasks&) const = default;
};

// Nothing when the layout has exactly these tasks on this node, in this order;
// else which of the two differs, and how.
std::optional<Error> check_layout(const StepLayout& layout, const LocalTasks& started);

// Nothing when the layout has this size.
std::optional<Error> check_size(const StepLayout& layout, StepSize started);

}  // namespace distgpu
