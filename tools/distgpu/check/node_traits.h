// The traits of this node (NodeTrait).
#pragma once

#include "base/environment.h"
#include "check/named_check.h"
#include "mapping/plan/plan.h"
#include "mapping/topology/topology.h"
#include "node/machine.h"

#include <string>
#include <vector>

namespace distgpu {

// `topology`: null where it is not known; the traits of devices are then left out.
std::vector<NodeTrait> device_traits(const NodeTopology* topology, const MachineRoots& roots = {});

// The kernel, NVIDIA's driver and distgpu.
std::vector<NodeTrait> system_traits(const MachineRoots& roots = {});

// NCCL_*, GLOO_* and UCX_* but for those that distgpu gave this task.
NodeTrait communication_trait(const Environment& environment, const TaskPlan& task);

}  // namespace distgpu
