// See device_values.h.
#include "mapping/binding/device_values.h"

#include "base/format.h"

#include <algorithm>
#include <array>

namespace distgpu {
namespace {

using GpuList = std::vector<std::uint32_t>;

// AMD's kernel driver reports a UUID of zeros where it has none.
bool has_uuid(const Gpu& gpu) {
    return gpu.uuid.find_first_of("123456789abcdefABCDEF", gpu.uuid.find('-') + 1) !=
           std::string::npos;
}

bool all_have_uuids(const NodeFacts& node) {
    return std::all_of(node.share.gpus.begin(), node.share.gpus.end(),
                       [&](std::uint32_t gpu) { return has_uuid(node.topology->gpus[gpu]); });
}

std::string name_of(const Request& request, const NodeFacts& node, std::uint32_t gpu) {
    if (request.gpu_uuids && all_have_uuids(node)) return node.topology->gpus[gpu].uuid;
    const auto& gpus = node.share.gpus;
    const auto at = std::find(gpus.begin(), gpus.end(), gpu) - gpus.begin();
    return node.gpu_names.names[static_cast<std::size_t>(at)];
}

std::string visible(const Request& request, const NodeFacts& node, const GpuList& gpus) {
    std::vector<std::string> names;
    names.reserve(gpus.size());
    for (const std::uint32_t gpu : gpus) names.push_back(name_of(request, node, gpu));
    return join(names, ",");
}

bool slurm_sets(const NodeFacts& node, std::string_view variable) {
    const auto& names = node.gpu_names.variables;
    return std::find(names.begin(), names.end(), variable) != names.end();
}

// Puts the list into the one variable that the maker's runtime reads first: HIP numbers anew what
// ROCR_VISIBLE_DEVICES leaves, so that a permutation in both would be applied twice.
void set_visible(const NodeFacts& node, bool isolated, std::string list, DeviceValues& values) {
    const GpuVendor vendor = node.topology->gpus[node.share.gpus.front()].vendor;
    if (vendor == GpuVendor::intel) {
        // Level Zero takes the mask for a set: an order has no effect.
        if (isolated && slurm_sets(node, "ZE_AFFINITY_MASK")) {
            values.ze_affinity_mask = std::move(list);
        }
    } else if (vendor == GpuVendor::amd && slurm_sets(node, "ROCR_VISIBLE_DEVICES")) {
        values.rocr_visible_devices = std::move(list);
    } else if (slurm_sets(node, "CUDA_VISIBLE_DEVICES")) {
        values.cuda_visible_devices = std::move(list);
    }
}

std::string port_name(const NodeTopology& topology, PortRef port) {
    const Hca& hca = topology.hcas[port.hca];
    return formatted("{}:{}", hca.name, hca.ports[port.port].number);
}

// The ports that NCCL would use, and whether it would use others too.
struct Fabric {
    std::vector<std::string> eligible;
    bool has_others = false;
};

Fabric fabric_of(const NodeTopology& topology) {
    Fabric fabric;
    const auto verdicts = judge_ports(topology);
    for (std::uint32_t hca = 0; hca < verdicts.size(); ++hca) {
        if (topology.hcas[hca].kind != HcaKind::verbs) continue;
        for (std::uint32_t port = 0; port < verdicts[hca].size(); ++port) {
            if (verdicts[hca][port].eligible) {
                fabric.eligible.push_back(port_name(topology, {hca, port}));
            } else if (topology.hcas[hca].ports[port].state == HcaPort::State::active) {
                // NCCL itself leaves out ports that are not ACTIVE.
                fabric.has_others = true;
            }
        }
    }
    return fabric;
}

// Exact names: without '=' NCCL would take mlx5_1 for mlx5_10 as well.
std::string nccl_ib_hca(const Fabric& fabric) {
    constexpr std::size_t most = 32;  // MAX_IF of src/include/socket.h, NCCL 2.28
    if (!fabric.has_others || fabric.eligible.empty() || fabric.eligible.size() > most) return {};
    return formatted("={}", join(fabric.eligible, ","));
}

bool order_matters(const Request& request) {
    return !request.framework->launcher_per_node;
}

}  // namespace

BindingPolicy binding_policy(const Request& request, const NodeFacts& node) {
    const bool near = !request.keep_all;
    BindingPolicy policy;
    policy.gpus = request.gpus.value_or(near ? GpuChoice::near : GpuChoice::keep);
    // What Slurm gave each task by its own binding is more than a default.
    if (node.share.own) policy.gpus = GpuChoice::keep;
    const auto is_near = [near](std::optional<BindingChoice> choice) {
        return choice.value_or(near ? BindingChoice::near : BindingChoice::keep) ==
               BindingChoice::near;
    };
    policy.near_cpus = node.confined && is_near(request.cpus) &&
                       (!node.user_bound || request.cpus == BindingChoice::near);
    policy.near_hcas = is_near(request.hcas);
    return policy;
}

std::vector<DeviceValues> device_values(const Request& request, const NodeFacts& node,
                                        const NodeBinding* binding, std::uint32_t tasks,
                                        std::uint32_t step_nodes) {
    const BindingPolicy policy = binding_policy(request, node);
    std::vector<DeviceValues> values(tasks);
    for (DeviceValues& task : values) {
        if (policy.near_hcas && step_nodes > 1) task.interface = node.interface;
    }
    if (binding == nullptr) return values;
    const bool isolated = policy.gpus == GpuChoice::isolate;
    if (policy.gpus != GpuChoice::keep && !node.share.gpus.empty()) {
        for (std::uint32_t task = 0; task < tasks; ++task) {
            const GpuList& gpus = isolated ? binding->tasks[task].gpus : binding->gpu_order;
            set_visible(node, isolated, visible(request, node, gpus), values[task]);
        }
    }
    if (!policy.near_hcas) return values;
    const Fabric fabric = fabric_of(*node.topology);
    for (std::uint32_t task = 0; task < tasks; ++task) {
        values[task].nccl_ib_hca = nccl_ib_hca(fabric);
        // One task on the node may use all ports, and a launcher's processes would inherit one.
        if (tasks == 1 || !order_matters(request) || fabric.eligible.size() < 2) continue;
        values[task].ucx_net_devices = port_name(*node.topology, *binding->tasks[task].port);
    }
    return values;
}

std::vector<std::string> binding_warnings(const Request& request, const NodeFacts& node) {
    std::vector<std::string> lines;
    if (node.topology == nullptr || node.share.gpus.empty()) return lines;
    if (request.gpu_uuids && !all_have_uuids(node)) {
        lines.emplace_back(
            "gpu-ids=uuid: the driver does not tell every GPU's UUID; indices are used");
    }
    if (request.gpu_uuids && node.share.own) {
        lines.emplace_back(
            "gpu-ids=uuid: Slurm bound the GPUs to the tasks and named them; use "
            "--gpus-per-node in place of --gpus-per-task and --gpu-bind");
    }
    return lines;
}

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

std::span<const SetVariable> device_variables() {
    static constexpr std::array variables{
        SetVariable{"CUDA_VISIBLE_DEVICES",
                    "the step's GPUs on the node, in an order in which device `LOCAL_RANK` is near "
                    "the task's CPUs (`gpus=near`), or the task's own (`gpus=isolate`)",
                    value<&DeviceValues::cuda_visible_devices>},
        SetVariable{"ROCR_VISIBLE_DEVICES",
                    "the same on AMD's GPUs, where Slurm sets this variable; "
                    "`CUDA_VISIBLE_DEVICES` then stays as it is",
                    value<&DeviceValues::rocr_visible_devices>},
        SetVariable{"ZE_AFFINITY_MASK",
                    "the task's own GPUs of Intel's, with `gpus=isolate` only (an order has no "
                    "effect there)",
                    value<&DeviceValues::ze_affinity_mask>},
        SetVariable{"NCCL_IB_HCA",
                    "the InfiniBand and RoCE ports of the compute network, the same for all tasks "
                    "of the node; only where others are ACTIVE beside them",
                    value<&DeviceValues::nccl_ib_hca>, true},
        SetVariable{"UCX_NET_DEVICES",
                    "the port nearest to the task's GPU; only where the node has several tasks "
                    "and several ports to choose from",
                    value<&DeviceValues::ucx_net_devices>, true},
        SetVariable{"NCCL_SOCKET_IFNAME",
                    "the interface that has the node's address, in steps of several nodes",
                    nccl_interface, true},
        SetVariable{"GLOO_SOCKET_IFNAME",
                    "the same for Gloo, which otherwise takes the address of the host's name",
                    value<&DeviceValues::interface>, true},
    };
    return variables;
}

}  // namespace distgpu
