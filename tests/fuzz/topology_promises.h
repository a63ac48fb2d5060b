// What holds of every topology that was read, whatever text it came from.
#pragma once

#include "mapping/topology/topology.h"

namespace distgpu {

// Its parts fit each other, and a step with its GPUs and CPUs gets a complete plan, whether the
// tasks share the node's CPUs or have some each.
void require_plans_on(const NodeTopology& topology);

}  // namespace distgpu
