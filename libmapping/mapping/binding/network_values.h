// The variables that tell a task which network devices to use.
#pragma once

#include "mapping/binding/binding.h"
#include "mapping/binding/device_values.h"
#include "mapping/binding/node_facts.h"
#include "mapping/request/request.h"

#include <vector>

namespace distgpu {

// Sets those of NCCL's and UCX's ports in `values`, by local rank. Precondition: the node's
// topology is known.
void set_ports(const Request& request, const NodeFacts& node, const NodeBinding& binding,
               std::vector<DeviceValues>& values);

}  // namespace distgpu
