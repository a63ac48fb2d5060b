// What rails and nodes show on their own, and what it says about those that the matches accuse.
#pragma once

#include "analysis/blame.h"
#include "analysis/evidence.h"

namespace distgpu::scaling {

// Adds the nodes that are slow on their own and the slow rails. Of an accused node that was tried
// again rail by rail, the slow ones are its ports. Another slow rail is a port of the one node that
// is as slow as it is and has no other cause; where no such node is slow, it is slow on all nodes.
// Else it stays open which node's it is, and the nodes keep their names.
// `noise`: of one match.
void add_own_figures(Blame& blame, const Evidence& evidence, double noise);

}  // namespace distgpu::scaling
