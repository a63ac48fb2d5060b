// slurmstepd, in a task's own process just before its program: the task's facts, and what the hand
// of node/prepare_task.h does with them.
#pragma once

#include "asked_step.h"
#include "spank_access.h"
#include "step_binding.h"

namespace distgpu {

// In task_init, as the user. Ends the process after a dry run. Refused: the task must not start,
// and the user was told why.
Outcome start_task(spank_t spank, const AskedStep& asked, const StepBinding& binding);

}  // namespace distgpu
