// What srun sent with a step whose tasks the plugin of their node did not prepare: it would have
// removed it from their environment.
#pragma once

#include "base/environment.h"
#include "node/carried_step.h"

#include <optional>
#include <string>

namespace distgpu {

// The SPEC that srun asked for, where nothing prepared this task: Slurm has not loaded the plugin
// on its node. Nothing: the task is prepared, or nobody asked.
std::optional<std::string> unanswered_spec(const Environment& environment);

// What srun sent beside it. Empty: it sent none for this step.
CarriedStep sent_step(const Environment& environment);

}  // namespace distgpu
