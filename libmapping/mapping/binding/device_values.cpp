#include "mapping/binding/device_values.h"

#include "base/format.h"
#include "base/values.h"

#include <array>
#include <iterator>
#include <numeric>

namespace distgpu {
namespace {

using Indices = std::vector<std::uint32_t>;

// AMD's kernel driver reports a UUID of zeros if it has none.
bool has_uuid(const Gpu& gpu) {
    return gpu.uuid.find_first_of("123456789abcdefABCDEF", gpu.uuid.find('-') + 1) !=
           std::string::npos;
}

bool all_have_uuids(const NodeFacts& node) {
    return std::all_of(node.share.gpus.begin(), node.share.gpus.end(),
                       [&](std::uint32_t gpu) { return has_uuid(node.topology->gpus[gpu]); });
}

// Whether the step's GPU numbers follow PCI_BUS_ID order.
bool numbers_follow_pci(const NodeFacts& node) {
    const auto& gpus = node.share.gpus;
    return node.gpu_names.in_pci_order || gpus.empty() ||
           node.topology->gpus[gpus.front()].vendor != GpuVendor::nvidia;
}

// Why the step's numbers do not identify its GPUs; empty if they do. Precondition, as of the two
// functions above: the node's topology is known.
std::string gpu_ambiguity(const NodeFacts& node) {
    if (!node.gpu_names.ambiguity.empty()) return node.gpu_names.ambiguity;
    if (numbers_follow_pci(node) || all_have_uuids(node)) return {};
    return "CUDA_DEVICE_ORDER: your value numbers the GPUs differently from PCI_BUS_ID, and the "
           "driver does not report the UUID of every GPU";
}

// Parses "0,2": numbers below the limit, ascending; nullopt for any other text.
std::optional<Indices> parse_numbers(std::string_view list, std::size_t limit) {
    Indices result;
    for (const std::string_view item : comma_items(list)) {
        const auto number = number_below(item, limit);
        if (!number || (!result.empty() && *number <= result.back())) return std::nullopt;
        result.push_back(*number);
    }
    return result;
}

Error unidentified(std::string problem) {
    return {"GPUs", std::move(problem), ""};
}

}  // namespace

BindingPolicy binding_policy(const Request& request, const NodeFacts& node) {
    const bool near = !request.keep_all;
    BindingPolicy policy;
    policy.gpus = request.gpus.value_or(near ? GpuPolicy::near : GpuPolicy::keep);
    // Slurm's own binding of GPUs to tasks takes precedence over gpus=.
    const bool is_ambiguous = node.topology != nullptr && !gpu_ambiguity(node).empty();
    if (!node.share.task_gpus.empty() || is_ambiguous) policy.gpus = GpuPolicy::keep;
    const auto is_near = [near](std::optional<BindingChoice> choice) {
        return choice.value_or(near ? BindingChoice::near : BindingChoice::keep) ==
               BindingChoice::near;
    };
    policy.near_cpus = node.is_confined && !is_ambiguous && is_near(request.cpus) &&
                       (!node.has_cpu_bind || request.cpus == BindingChoice::near);
    policy.near_hcas = is_near(request.hcas);
    return policy;
}

bool needs_topology(const Request& request) {
    const BindingPolicy policy = binding_policy(request, NodeFacts{.is_confined = true});
    return policy.gpus != GpuPolicy::keep || policy.near_cpus || policy.near_hcas;
}

Numbering likely_numbering(const NodeTopology& topology, const std::optional<Indices>& usable) {
    return usable && usable->size() == topology.gpus.size() ? Numbering::node : Numbering::opened;
}

Result<StepGpus> step_gpus(const NodeTopology& topology, const std::optional<Indices>& usable,
                           std::string_view visible, Numbering numbering) {
    const auto given = parse_numbers(visible, topology.gpus.size());
    if (!given || given->empty()) return StepGpus{};
    Indices counted(topology.gpus.size());
    std::iota(counted.begin(), counted.end(), 0U);
    if (usable) counted = *usable;
    StepGpus gpus;
    if (numbering == Numbering::opened) {
        // All that the task can open, unless these are more than Slurm gave it.
        if (!usable) {
            return unidentified(
                "the driver does not report which device file belongs to which GPU");
        }
        if (usable->size() > given->size()) {
            return unidentified(
                formatted("the task can open {}, but Slurm gave it {}; list every GPU of the "
                          "node in gres.conf",
                          usable->size(), given->size()));
        }
        gpus.indices = *usable;
    } else {
        std::set_intersection(given->begin(), given->end(), counted.begin(), counted.end(),
                              std::back_inserter(gpus.indices));
    }
    if (gpus.indices.empty()) {
        return unidentified("the task cannot open any of those that Slurm gave it");
    }
    if (std::any_of(counted.begin(), counted.end(),
                    [&](std::uint32_t gpu) { return !topology.gpus[gpu].mig.empty(); })) {
        return unidentified("some are divided into MIG instances, which the numbers do not count");
    }
    // A GPU's name is its position among those that the task can open.
    for (const std::uint32_t index : gpus.indices) {
        const auto at = std::lower_bound(counted.begin(), counted.end(), index) - counted.begin();
        gpus.names.push_back(std::to_string(at));
    }
    return gpus;
}

namespace {

// Sets only the variable that the vendor's runtime reads first: HIP renumbers the GPUs that
// ROCR_VISIBLE_DEVICES leaves, so that a permutation in both would be applied twice, and the
// numbers that Slurm sets in CUDA_VISIBLE_DEVICES, which HIP reads too, may be out of range.
void set_visible_gpus(const NodeFacts& node, bool uuids, bool isolates, const Indices& gpus,
                      DeviceValues& values) {
    const auto& all = node.share.gpus;
    std::vector<std::string> list;
    for (const std::uint32_t gpu : gpus) {
        const auto place = std::find(all.begin(), all.end(), gpu) - all.begin();
        list.push_back(uuids ? node.topology->gpus[gpu].uuid
                             : node.gpu_names.names[static_cast<std::size_t>(place)]);
    }
    const auto slurm_sets = [&names = node.gpu_names.variables](std::string_view variable) {
        return std::find(names.begin(), names.end(), variable) != names.end();
    };
    const GpuVendor vendor = node.topology->gpus[all.front()].vendor;
    if (vendor == GpuVendor::intel) {
        // Level Zero's mask is a set, in which the order has no effect.
        if (isolates && slurm_sets("ZE_AFFINITY_MASK")) values.ze_affinity_mask = join(list, ",");
    } else if (vendor == GpuVendor::amd && slurm_sets("ROCR_VISIBLE_DEVICES")) {
        values.rocr_visible_devices = join(list, ",");
        if (slurm_sets("CUDA_VISIBLE_DEVICES")) {
            Indices from_zero(gpus.size());
            std::iota(from_zero.begin(), from_zero.end(), 0U);
            values.cuda_visible_devices = join(from_zero, ",");
        }
    } else if (slurm_sets("CUDA_VISIBLE_DEVICES")) {
        values.cuda_visible_devices = join(list, ",");
        // By default CUDA numbers the fastest GPU first.
        if (!uuids) values.cuda_device_order = "PCI_BUS_ID";
    }
}

// The ports that NCCL shall use; empty if it would use no others (it skips ports that are not
// ACTIVE). '=' makes the names exact: without it mlx5_1 would match mlx5_10 as well.
std::string nccl_ib_hca(const NodeTopology& topology, const std::vector<PortRef>& eligible) {
    constexpr std::size_t max_ports = 32;  // MAX_IF of src/include/socket.h, NCCL 2.28
    std::size_t active = 0;
    for (const Hca& hca : topology.hcas) {
        if (hca.kind != HcaKind::verbs) continue;
        for (const HcaPort& port : hca.ports) active += port.state == HcaPort::State::active;
    }
    if (active <= eligible.size() || eligible.empty() || eligible.size() > max_ports) return {};
    std::vector<std::string> names;
    names.reserve(eligible.size());
    for (const PortRef port : eligible) names.push_back(port_name(topology, port));
    return "=" + join(names, ",");
}

template <std::string DeviceValues::*field>
std::optional<std::string> value(const TaskContext& task) {
    if (task.devices == nullptr || (task.devices->*field).empty()) return std::nullopt;
    return task.devices->*field;
}

// '=' makes the name exact: without it eth0 would match eth01 as well.
std::optional<std::string> nccl_interface(const TaskContext& task) {
    const auto name = value<&DeviceValues::interface>(task);
    return name ? std::optional("=" + *name) : std::nullopt;
}

}  // namespace

std::vector<std::string> gpu_name_warnings(const Request& request, const NodeFacts& node) {
    if (node.topology == nullptr) return {};
    if (const std::string ambiguity = gpu_ambiguity(node); !ambiguity.empty()) {
        return {ambiguity + "; GPUs and CPUs stay as Slurm set them"};
    }
    std::vector<std::string> lines;
    if (node.share.gpus.empty() || !request.gpu_uuids) return lines;
    if (!all_have_uuids(node)) {
        lines.emplace_back(
            "gpu-ids=uuid: the driver does not report the UUID of every GPU; using numbers "
            "instead");
    }
    if (!node.share.task_gpus.empty()) {
        lines.emplace_back(
            "gpu-ids=uuid: Slurm bound the GPUs to the tasks and named them; use "
            "--gpus-per-node instead of --gpus-per-task and --gpu-bind");
    }
    return lines;
}

std::vector<DeviceValues> device_values(const Request& request, const NodeFacts& node,
                                        const NodeBinding* binding, std::uint32_t tasks,
                                        std::uint32_t step_nodes) {
    const BindingPolicy policy = binding_policy(request, node);
    std::vector<DeviceValues> values(tasks);
    if (policy.near_hcas && step_nodes > 1) {
        for (DeviceValues& task : values) task.interface = node.interface;
    }
    if (binding == nullptr) return values;
    if (policy.gpus != GpuPolicy::keep && !node.share.gpus.empty()) {
        // Unlike a number, a UUID does not depend on the order.
        const bool uuids = (request.gpu_uuids || !numbers_follow_pci(node)) && all_have_uuids(node);
        const bool isolates = policy.gpus == GpuPolicy::isolate;
        for (std::size_t task = 0; task < tasks; ++task) {
            set_visible_gpus(node, uuids, isolates,
                             isolates ? binding->tasks[task].gpus : binding->gpu_order,
                             values[task]);
        }
    }
    if (!policy.near_hcas) return values;
    const std::vector<PortRef> eligible = rank_ports(*node.topology);
    // A single task may use all ports; the processes of a launcher would all inherit the same one.
    const bool sets_port =
        tasks > 1 && !request.framework->launcher_per_node && eligible.size() > 1;
    const std::string ib_hca = nccl_ib_hca(*node.topology, eligible);
    for (std::size_t task = 0; task < tasks; ++task) {
        values[task].nccl_ib_hca = ib_hca;
        if (!sets_port) continue;
        values[task].ucx_net_devices = port_name(*node.topology, *binding->tasks[task].port);
    }
    return values;
}

std::span<const SetVariable> device_variables() {
    static constexpr auto variables = std::to_array<SetVariable>({
        {"CUDA_VISIBLE_DEVICES",
         "the step's GPUs on the node, ordered so that device `LOCAL_RANK` is near the "
         "task's CPUs (`gpus=near`), or only the task's own (`gpus=isolate`)",
         value<&DeviceValues::cuda_visible_devices>},
        {"CUDA_DEVICE_ORDER",
         "`PCI_BUS_ID`, with the numbers in `CUDA_VISIBLE_DEVICES`: CUDA would otherwise "
         "count the fastest GPU first. If you set another order, GPUs are named by UUID",
         value<&DeviceValues::cuda_device_order>, true},
        {"ROCR_VISIBLE_DEVICES",
         "the same for AMD GPUs, if Slurm sets this variable; `CUDA_VISIBLE_DEVICES`, if "
         "Slurm sets it too, then numbers these GPUs from 0, as HIP does",
         value<&DeviceValues::rocr_visible_devices>},
        {"ZE_AFFINITY_MASK",
         "the task's own Intel GPUs, only with `gpus=isolate` (their order has no effect)",
         value<&DeviceValues::ze_affinity_mask>},
        {"NCCL_IB_HCA",
         "the InfiniBand and RoCE ports of the compute network, the same for all tasks "
         "of the node; set only if other ports are ACTIVE too",
         value<&DeviceValues::nccl_ib_hca>, true},
        {"UCX_NET_DEVICES",
         "the port nearest to the task's GPU; set only if the node has several tasks "
         "and several ports to choose from",
         value<&DeviceValues::ucx_net_devices>, true},
        {"NCCL_SOCKET_IFNAME",
         "the interface that has the node's address, in steps with several nodes", nccl_interface,
         true},
        {"GLOO_SOCKET_IFNAME",
         "the same for Gloo, which otherwise uses the address of the host name",
         value<&DeviceValues::interface>, true},
    });
    return variables;
}

}  // namespace distgpu
