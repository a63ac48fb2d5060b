// slurmstepd, in a task's own process just before its program: the task's facts, and what the hand
// of node/prepare_task.h does with them.
#pragma once

#include "asked_step.h"
#include "failure.h"
#include "spank_access.h"
#include "step_binding.h"

#include <optional>

namespace distgpu {

// In task_init, as the user. Ends the process after a dry run. `host_root`: "/", opened before any
// plugin put the task into a container. Returns why the task must not start.
std::optional<Failure> start_task(spank_t spank, const AskedStep& asked, const StepBinding& binding,
                                  int host_root);

}  // namespace distgpu
