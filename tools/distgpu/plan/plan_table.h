// The plan of a step for people: where each rank is, and what one of them gets.
#pragma once

#include "output.h"
#include "plan/plan_input.h"

namespace distgpu {

// A line for the step, a line for each task by node and local rank, the warnings. Of a single
// rank that was asked for, its variables too. `colour`: with the terminal's bold and yellow.
// Errors: as plan(), before anything is written, and the writer's.
Result<Done> write_plan_table(const PlanInput& input, bool colour, const Writer& write);

}  // namespace distgpu
