// The secret of a step: srun draws it where distgpu prepares the step, and its tasks have it in
// SLURM_DISTGPU_SECRET. A process's environment can be read by its own user alone; nothing prints
// or logs this variable. A step inside that distgpu does not prepare has that of the step around
// it, which is as good: no other user knows it.
#pragma once

#include "base/environment.h"
#include "base/secret.h"

#include <optional>

namespace distgpu {

// From the kernel; nothing: it gave none.
std::optional<Secret> draw_secret();

// Nothing: distgpu did not prepare the step.
std::optional<Secret> handed_secret(const Environment& environment);

}  // namespace distgpu
