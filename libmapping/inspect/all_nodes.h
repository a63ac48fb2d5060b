// A look at a step on all its nodes.
#pragma once

#include "base/result.h"
#include "inspect/look.h"
#include "slurm/running_step.h"

#include <chrono>
#include <string>
#include <vector>

namespace distgpu {

struct NodeLooks {
    std::vector<NodeLook> nodes;
    std::vector<std::string> silent;  // nodes without one
};

// Errors: as of ask_nodes().
Result<NodeLooks> look_at_all(const RunningStep& step, std::chrono::seconds length);

}  // namespace distgpu
