#include "mapping/binding/device_values.h"

#include "mapping/binding/binding_policy.h"
#include "mapping/binding/network_values.h"
#include "mapping/binding/visible_gpus.h"

#include <array>
#include <optional>

namespace distgpu {
namespace {

using Value = std::optional<std::string>;

template <std::string DeviceValues::*field>
Value value(const TaskContext& task) {
    if (task.devices == nullptr || (task.devices->*field).empty()) return std::nullopt;
    return task.devices->*field;
}

// Exactly this interface: without '=' NCCL would take eth0 for eth01 as well.
Value nccl_interface(const TaskContext& task) {
    if (task.devices == nullptr || task.devices->interface.empty()) return std::nullopt;
    return "=" + task.devices->interface;
}

}  // namespace

std::vector<DeviceValues> device_values(const Request& request, const NodeFacts& node,
                                        const NodeBinding* binding, std::uint32_t tasks,
                                        std::uint32_t step_nodes) {
    const bool near_hcas = binding_policy(request, node).near_hcas;
    std::vector<DeviceValues> values(tasks);
    for (DeviceValues& task : values) {
        if (near_hcas && step_nodes > 1) task.interface = node.interface;
    }
    if (binding == nullptr) return values;
    set_visible_gpus(request, node, *binding, values);
    if (near_hcas) set_ports(request, node, *binding, values);
    return values;
}

std::span<const SetVariable> device_variables() {
    static constexpr std::array variables{
        SetVariable{"CUDA_VISIBLE_DEVICES",
                    "the step's GPUs on the node, ordered so that device `LOCAL_RANK` is near the "
                    "task's CPUs (`gpus=near`), or only the task's own (`gpus=isolate`)",
                    value<&DeviceValues::cuda_visible_devices>},
        SetVariable{
            "CUDA_DEVICE_ORDER",
            "`PCI_BUS_ID`, with the numbers in `CUDA_VISIBLE_DEVICES`: CUDA would otherwise "
            "count the fastest GPU first. If you set another order, GPUs are named by UUID",
            value<&DeviceValues::cuda_device_order>, true},
        SetVariable{
            "ROCR_VISIBLE_DEVICES",
            "the same for AMD GPUs, if Slurm sets this variable; `CUDA_VISIBLE_DEVICES`, if "
            "Slurm sets it too, then numbers these GPUs from 0, as HIP does",
            value<&DeviceValues::rocr_visible_devices>},
        SetVariable{
            "ZE_AFFINITY_MASK",
            "the task's own Intel GPUs, only with `gpus=isolate` (their order has no effect)",
            value<&DeviceValues::ze_affinity_mask>},
        SetVariable{"NCCL_IB_HCA",
                    "the InfiniBand and RoCE ports of the compute network, the same for all tasks "
                    "of the node; set only if other ports are ACTIVE too",
                    value<&DeviceValues::nccl_ib_hca>, true},
        SetVariable{"UCX_NET_DEVICES",
                    "the port nearest to the task's GPU; set only if the node has several tasks "
                    "and several ports to choose from",
                    value<&DeviceValues::ucx_net_devices>, true},
        SetVariable{"NCCL_SOCKET_IFNAME",
                    "the interface that has the node's address, in steps with several nodes",
                    nccl_interface, true},
        SetVariable{"GLOO_SOCKET_IFNAME",
                    "the same for Gloo, which otherwise uses the address of the host name",
                    value<&DeviceValues::interface>, true},
    };
    return variables;
}

}  // namespace distgpu
