// What holds of the plan of every step, whatever text its layout, request or topology came from.
#pragma once

#include "mapping/plan/plan.h"

namespace distgpu {

// The step is refused in one line, or its plan is complete: every task of a node has its ranks, as
// the layout says, each variable once, and CPUs, GPUs and a port that the node has. Looked at:
// `facts.node` and the nodes of the first and the last task. Preconditions: as for plan(); the
// facts fit each of those nodes.
void require_complete_plans(const Request& request, const Step& step, NodeFacts facts);

// The same with one request of each kind: a rank each task, a launcher, every node by its name.
void require_complete_plans(const Step& step, const NodeFacts& facts);

// So many nodes and tasks that a plan takes no time.
bool is_small(const StepLayout& layout);

}  // namespace distgpu
