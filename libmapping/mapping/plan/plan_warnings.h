// The traps of a first hour: legal shapes of a step that are seldom what was meant.
#pragma once

#include "base/result.h"
#include "mapping/frameworks/framework.h"
#include "mapping/plan/node_facts.h"

#include <vector>

namespace distgpu {

// Of the step as a whole, for srun to say.
std::vector<Error> step_warnings(const StepView& step);

// Of the step's node `node.node`.
std::vector<Error> plan_warnings(const StepView& step, const NodeFacts& node);

}  // namespace distgpu
