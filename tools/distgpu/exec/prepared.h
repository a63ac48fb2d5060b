// A task that srun --distgpu has prepared already.
#pragma once

#include <distgpu/environment.h>
#include <distgpu/plan.h>
#include <distgpu/result.h>

#include <optional>

namespace distgpu {

bool is_prepared(const Environment& environment);

// Nothing: what it has is what `task` would get. Rendezvous, devices and what else may be the
// user's own is not compared: the plugin knows more of it.
std::optional<Error> disagreement(const Environment& environment, const TaskPlan& task);

}  // namespace distgpu
