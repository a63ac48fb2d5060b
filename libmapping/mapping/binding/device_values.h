// The variables for GPUs and network devices: identifies the GPUs that Slurm's numbers name, and
// computes each task's values.
#pragma once

#include "mapping/binding/binding.h"
#include "mapping/frameworks/framework.h"

namespace distgpu {

// The step's GPUs, in two lists of equal length.
struct StepGpus {
    std::vector<std::uint32_t> indices;  // into NodeTopology::gpus, ascending
    std::vector<std::string> names;      // by which this task names them

    bool operator==(const StepGpus&) const = default;
};

// What Slurm's numbers count (common_gres_set_env() of gres_common.c, 22.05 to 26.05).
enum class Numbering : std::uint8_t {
    node,    // all GPUs of the node, from 0 in PCI order, as CUDA does
    opened,  // those that Slurm lets the step open (ConstrainDevices), from 0
};

// The numbering if Slurm does not report it: `node` if the task can open all GPUs of the node.
Numbering likely_numbering(const NodeTopology& topology,
                           const std::optional<std::vector<std::uint32_t>>& usable);

// `visible`: CUDA_VISIBLE_DEVICES or a similar variable, as Slurm set it for the step. `usable`:
// the result of usable_gpus() in this task. The lists are empty if there are no GPUs or `visible`
// is not plain numbers (UUIDs of MIG instances). A GPU that this task cannot open is left out: a
// container may have only some of the step's. Errors: the numbers do not identify the GPUs.
Result<StepGpus> step_gpus(const NodeTopology& topology,
                           const std::optional<std::vector<std::uint32_t>>& usable,
                           std::string_view visible, Numbering numbering);

// The values of the variables for one task. Empty: the variable is left alone.
struct DeviceValues {
    std::string cuda_visible_devices;
    std::string cuda_device_order;  // to which the numbers in cuda_visible_devices refer
    std::string rocr_visible_devices;
    std::string ze_affinity_mask;
    std::string nccl_ib_hca;
    std::string ucx_net_devices;
    std::string interface;
};

// By local rank. `binding`: null if the topology is unknown; then only the interface is set.
std::vector<DeviceValues> device_values(const Request& request, const NodeFacts& node,
                                        const NodeBinding* binding, std::uint32_t tasks,
                                        std::uint32_t step_nodes);

// Why the GPUs are not named as requested. Each warning is a phrase with its remedy.
std::vector<std::string> gpu_name_warnings(const Request& request, const NodeFacts& node);

// The variables of this kind that the tasks of every framework get.
std::span<const SetVariable> device_variables();

}  // namespace distgpu
