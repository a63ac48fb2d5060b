// The traps of a first hour: legal shapes of a step that are seldom what was meant, or never.
#pragma once

#include "base/result.h"
#include "mapping/binding/node_facts.h"
#include "mapping/frameworks/framework.h"

#include <optional>
#include <vector>

namespace distgpu {

// Of the step as a whole, for srun to say.
std::vector<Error> step_warnings(const StepView& step);

// Refuses a server on the step's node `node.node`, which has GPUs, where nobody asked for them: it
// would load nothing, or end after a minute.
std::optional<Error> server_without_gpus(const StepView& step, const NodeFacts& node);

// Of the step's node `node.node`.
std::vector<Error> plan_warnings(const StepView& step, const NodeFacts& node);

}  // namespace distgpu
