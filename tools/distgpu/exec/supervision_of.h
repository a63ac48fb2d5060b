// From the plan of a task to what `distgpu exec` has to see to.
#pragma once

#include "base/environment.h"
#include "exec/supervise.h"
#include "node/own_task.h"

#include <functional>
#include <string>
#include <vector>

namespace distgpu {

// The program gets the plan's options, and `environment`, which is its, loses the variables of the
// same meaning: they would mislead what it starts. Precondition: the framework has a service.
Supervision supervision_of(const OwnTask& own, const std::vector<std::string>& program,
                           Environment& environment);

// Ends the whole step, also on the nodes where `distgpu exec` has not begun. Empty: Slurm did not
// start it. `environment` has to live as long.
std::function<void()> step_end(const OwnTask& own, const Environment& environment);

}  // namespace distgpu
