// The variables that tell a task which GPUs it sees, and in which order.
#pragma once

#include "mapping/binding/binding.h"
#include "mapping/binding/device_values.h"
#include "mapping/binding/node_facts.h"
#include "mapping/request/request.h"

#include <cstdint>
#include <string>
#include <vector>

namespace distgpu {

// Sets them in `values`, by local rank. Precondition: the node's topology is known.
void set_visible_gpus(const Request& request, const NodeFacts& node, const NodeBinding& binding,
                      std::vector<DeviceValues>& values);

// Why the GPUs are not named as asked: each a phrase with its remedy.
std::vector<std::string> gpu_name_warnings(const Request& request, const NodeFacts& node);

}  // namespace distgpu
