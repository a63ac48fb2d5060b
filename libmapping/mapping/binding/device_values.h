// What the variables of GPUs and network devices say to one task.
#pragma once

#include "mapping/plan/plan.h"

#include <string>
#include <vector>

namespace distgpu {

// Empty: the variable is left as it is.
struct DeviceValues {
    std::string cuda_visible_devices;
    std::string rocr_visible_devices;
    std::string ze_affinity_mask;
    std::string nccl_ib_hca;
    std::string ucx_net_devices;
    std::string interface;
};

// What the request and the node's facts come down to.
BindingPolicy binding_policy(const Request& request, const NodeFacts& node);

// By local id. `binding`: null where the topology is not known; then only the interface is told.
std::vector<DeviceValues> device_values(const Request& request, const NodeFacts& node,
                                        const NodeBinding* binding, std::uint32_t tasks,
                                        std::uint32_t step_nodes);

// What cannot be done as asked, or will not work: each a phrase with its remedy.
std::vector<std::string> binding_warnings(const Request& request, const NodeFacts& node);

}  // namespace distgpu
