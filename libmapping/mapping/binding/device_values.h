// What the variables of GPUs and network devices say to one task.
#pragma once

#include "mapping/binding/binding.h"
#include "mapping/binding/node_facts.h"
#include "mapping/frameworks/framework.h"
#include "mapping/request/request.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace distgpu {

// Empty: the variable is left as it is.
struct DeviceValues {
    std::string cuda_visible_devices;
    std::string cuda_device_order;  // by which CUDA counts the numbers in cuda_visible_devices
    std::string rocr_visible_devices;
    std::string ze_affinity_mask;
    std::string nccl_ib_hca;
    std::string ucx_net_devices;
    std::string interface;
};

// By local rank. `binding`: null where the topology is not known; then only the interface is told.
std::vector<DeviceValues> device_values(const Request& request, const NodeFacts& node,
                                        const NodeBinding* binding, std::uint32_t tasks,
                                        std::uint32_t step_nodes);

// What the tasks of every framework get of them.
std::span<const SetVariable> device_variables();

}  // namespace distgpu
