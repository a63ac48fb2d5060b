// The variables of GPUs and network devices: which GPUs of the node Slurm's numbers name, and what
// the variables say to each task.
#pragma once

#include "mapping/binding/binding.h"
#include "mapping/frameworks/framework.h"

namespace distgpu {

// Two lists of one length: where the GPUs are on the node, and how this task names them.
struct StepGpus {
    std::vector<std::uint32_t> indices;  // into NodeTopology::gpus, ascending
    std::vector<std::string> names;

    bool operator==(const StepGpus&) const = default;
};

// What Slurm's numbers count (common_gres_set_env() of gres_common.c, 22.05 to 26.05).
enum class Numbering : std::uint8_t {
    node,    // all GPUs of the node, from 0: CUDA opens the one at this place in PCI order
    opened,  // those that Slurm lets the step open (ConstrainDevices), from 0
};

// Where Slurm does not tell: it is `node` where the task can open all GPUs of the node.
Numbering likely_numbering(const NodeTopology& topology,
                           const std::optional<std::vector<std::uint32_t>>& usable);

// `visible`: CUDA_VISIBLE_DEVICES or its like, as Slurm set it for the step. `usable`: what
// usable_gpus() says in this task. Without GPUs, and where they are not plain numbers (UUIDs of MIG
// instances), the lists are empty. A GPU that this task cannot open is left out: a container may
// have some of the step's only. Errors: it is not clear which GPUs they are.
Result<StepGpus> step_gpus(const NodeTopology& topology,
                           const std::optional<std::vector<std::uint32_t>>& usable,
                           std::string_view visible, Numbering numbering);

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

// Why the GPUs are not named as asked: each a phrase with its remedy.
std::vector<std::string> gpu_name_warnings(const Request& request, const NodeFacts& node);

// What the tasks of every framework get of them.
std::span<const SetVariable> device_variables();

}  // namespace distgpu
