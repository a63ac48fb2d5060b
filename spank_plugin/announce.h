// What a task says of the plan before its program starts.
#pragma once

#include "mapping/plan/plan.h"

namespace distgpu {

// Tells what `verbose` asks for and the plan's warnings; for dry-run prints the
// plan and ends the process. The task of rank 0 speaks for the whole step.
void announce_task(const Request& request, const StepLayout& layout, const NodeFacts& node,
                   const NodePlan& plan, LocalId local);

}  // namespace distgpu
