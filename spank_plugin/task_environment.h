// Applies the plan to one task: the last thing before execve.
#pragma once

#include "spank_access.h"

#include <distgpu/plan.h>

#include <optional>
#include <string>
#include <string_view>

namespace distgpu {

// A variable that the user exported: set, not empty, and not what distgpu gave
// the tasks of an outer step from which it was inherited.
std::optional<std::string> exported(spank_t spank, std::string_view name);

// GPUs and CPUs of the step on this node, from what Slurm set in the task's
// environment.
NodeFacts read_node_facts(spank_t spank);

// Removes the variables that carried the request here, so that a step started
// inside asks anew.
void remove_request(spank_t spank);

// Sets and removes the variables of the task with this local id.
// Refused: a variable that Slurm did not take.
Outcome set_task_environment(spank_t spank, const NodePlan& plan, LocalId local);

}  // namespace distgpu
