// The forms in which `distgpu plan` writes the plan of a step. Errors of each: as plan(), before
// anything is written, and the writer's.
#pragma once

#include "output.h"
#include "plan/plan_input.h"

namespace distgpu {

// JSON, as distgpu.plan/1: one task a line, by node and local rank, whatever order the ranks have;
// ends with a newline.
Result<Done> write_plan_json(const PlanInput& input, const Writer& write);

// `unset` and `export` lines of one rank for a POSIX shell, to be read by `eval` or `.`. Warnings
// go to standard error. Precondition: input.rank is set.
Result<Done> write_plan_shell(const PlanInput& input, const Writer& write);

// For people: a line for the step, a line for each task by node and local rank, the warnings. Of a
// single rank that was asked for, its variables too. `colour`: with the terminal's bold and yellow.
Result<Done> write_plan_table(const PlanInput& input, bool colour, const Writer& write);

}  // namespace distgpu
