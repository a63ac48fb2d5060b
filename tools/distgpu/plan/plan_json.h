// The plan of a step as JSON, in the form distgpu.plan/1.
#pragma once

#include "output.h"
#include "plan/plan_input.h"

namespace distgpu {

// One task a line, by node and local rank, whatever order the ranks have; ends with a newline.
// Errors: as plan(), before anything is written, and the writer's.
Result<Done> write_plan_json(const PlanInput& input, const Writer& write);

}  // namespace distgpu
