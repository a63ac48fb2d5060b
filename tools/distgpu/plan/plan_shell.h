// The variables of one rank as lines for a POSIX shell.
#pragma once

#include "output.h"
#include "plan/plan_input.h"

namespace distgpu {

// `unset` and `export` lines, to be read by `eval` or `.`.
// Precondition: input.rank is set. Errors: as plan(), and the writer's.
Result<Done> write_plan_shell(const PlanInput& input, const Writer& write);

}  // namespace distgpu
