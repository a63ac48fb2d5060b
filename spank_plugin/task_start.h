// slurmstepd, in a task's own process just before its program: the task's facts, and what the hand
// of node/prepare_task.h does with them.
#pragma once

#include "asked_step.h"
#include "base/environment_copy.h"
#include "node/host_helper.h"
#include "refusal.h"
#include "spank_access.h"
#include "step_binding.h"

#include <optional>

namespace distgpu {

// What a task keeps of the host, should another plugin put it into a container.
struct HostSide {
    Result<HostHelper> helper;
    EnvironmentCopy variables;  // of the launch, which no image has changed
};

// In task_init_privileged: whether this task will have a program of the host's started.
bool needs_host_side(spank_t spank, const AskedStep& asked);

// There too, once Slurm has put all tasks into their cgroups.
HostSide keep_host_side(spank_t spank);

// In task_init, as the user. Ends the process after a dry run. Returns why the task must not start.
std::optional<Failure> start_task(spank_t spank, const AskedStep& asked, const StepBinding& binding,
                                  std::optional<HostSide>& host);

}  // namespace distgpu
