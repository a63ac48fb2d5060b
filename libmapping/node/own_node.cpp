// See own_node.h.
#include "node/own_node.h"

#include "base/format.h"
#include "base/io/name_lookup.h"
#include "base/io/resolve.h"
#include "base/values.h"
#include "mapping/binding/binding_policy.h"
#include "mapping/frameworks/framework.h"
#include "node/affinity.h"
#include "node/gpu_devices.h"
#include "node/gpu_ownership.h"
#include "node/network_interface.h"
#include "node/node_topology.h"
#include "node/step_gpus.h"
#include "node/task_environment.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string_view>
#include <utility>

namespace distgpu {
namespace {

// The CPUs of one hexadecimal mask; empty: not one.
CpuSet parse_mask(std::string_view text) {
    if (text.substr(0, 2) == "0x") text.remove_prefix(2);
    CpuSet cpus;
    constexpr std::uint32_t digit_bits = 4;
    std::uint32_t first = 0;
    for (auto digit = text.rbegin(); digit != text.rend(); ++digit, first += digit_bits) {
        unsigned bits = 0;
        if (std::from_chars(&*digit, &*digit + 1, bits, 16).ec != std::errc{} ||
            first + digit_bits > CpuSet::cpu_limit) {
            return {};
        }
        for (std::uint32_t bit = 0; bit < digit_bits; ++bit) {
            if ((bits >> bit & 1U) != 0) cpus.add(first + bit);
        }
    }
    return cpus;
}

CpuSet own_mask() {
    KernelCpuSet cpus{};
    return read_affinity(0, cpus) ? CpuSet::from_words(cpus) : CpuSet{};
}

// Of all tasks of the node; empty: not known.
std::vector<CpuSet> masks_of_node(const Environment& environment, const Place& place) {
    const std::size_t tasks = place.layout.tasks_on(place.node);
    const CpuSet own = own_mask();
    if (own.empty()) return {};
    const std::string type = environment.get("SLURM_CPU_BIND_TYPE").value_or("");
    if (tasks == 1 || type.empty() || type.substr(0, 4) == "none") return {tasks, own};
    if (type.substr(0, 8) != "mask_cpu") return {};
    auto masks = parse_masks(environment.get("SLURM_CPU_BIND_LIST").value_or(""), tasks);
    // A list that is wrong about this task says nothing of the others.
    if (!masks.empty() && masks[place.local.value] != own) masks.clear();
    return masks;
}

CpuSet all_of(const std::vector<CpuSet>& masks) {
    CpuSet all;
    for (const CpuSet& mask : masks) all |= mask;
    return all;
}

void add_gpus(NodeFacts& facts, const Environment& environment) {
    facts.gpu_names.variables = gpu_variables(environment);
    // GPUs that Slurm bound to this task alone, or gave to several jobs, are not ours to order.
    if (gpu_owner(environment) != GpuOwner::step) return;
    const NodeTopology& topology = *facts.topology;
    const auto usable = usable_gpus(topology);
    auto gpus =
        step_gpus(topology, usable, visible_gpus(environment), likely_numbering(topology, usable));
    if (!gpus) {
        facts.gpu_names.unclear = formatted("{}: {}", gpus.error().object, gpus.error().problem);
        return;
    }
    facts.share.gpus = std::move(gpus->indices);
    facts.gpu_names.names = std::move(gpus->names);
}

void add_interface(OwnNode& node, const std::string& name) {
    const NetworkInterface found = interface_of(name, Clock::now() + name_patience);
    node.facts.interface = found.name;
    if (found.unanswered) node.warnings.push_back(no_interface(name, name));
    if (found.loopback.empty()) return;
    node.warnings.push_back(
        {name,
         formatted("resolves to {} on its own node, so other nodes cannot reach it",
                   found.loopback),
         "remove it from that line of /etc/hosts"});
}

void add_topology(OwnNode& node, const Environment& environment, const std::string& command) {
    auto found = find_topology({default_topology_file, false, command});
    if (!found) {
        node.warnings.push_back({"topology",
                                 formatted("{}: {}", found.error().object, found.error().problem),
                                 "CPUs, GPUs and network devices stay as they are"});
        return;
    }
    node.topology = std::make_unique<NodeTopology>(std::move(found->topology));
    node.facts.topology = node.topology.get();
    add_gpus(node.facts, environment);
}

// What the plugin knows better, where it prepared the task; else one that is not the loopback's.
std::string own_address(const Environment& environment, const std::string& name) {
    constexpr std::chrono::seconds patience{5};
    const auto handed = environment.get("NODE_ADDR");
    if (handed && prepared_spec(environment)) return *handed;
    const auto addresses = resolve(name, 0, Clock::now() + patience);
    if (!addresses) return {};
    const auto found = std::find_if(addresses->begin(), addresses->end(),
                                    [](const Address& each) { return !each.is_loopback(); });
    return found == addresses->end() ? std::string{} : found->to_string();
}

}  // namespace

std::vector<CpuSet> parse_masks(std::string_view list, std::size_t tasks) {
    std::vector<CpuSet> masks;
    for (const std::string_view item : comma_items(list)) {
        masks.push_back(parse_mask(item));
        if (masks.back().empty()) return {};
    }
    if (masks.size() != tasks) masks.clear();
    return masks;
}

OwnNode find_own_node(const Environment& environment, const Request& request, const Place& place,
                      const std::string& command) {
    OwnNode node;
    NodeFacts& facts = node.facts;
    facts = read_node_facts(environment, environment);
    facts.node = place.node;
    facts.cpus_per_task = cpu_count(environment, "SLURM_CPUS_PER_TASK").value_or(0);
    facts.share.cpus_per_task = facts.cpus_per_task;
    // Slurm's variables speak of its own tasks, not of what mpirun started in one of them.
    const bool in_step = place.launcher == Launcher::slurm;
    if (place.layout.node_count() > 1) {
        add_interface(node, place.layout.hosts().name(place.node));
    }
    if (request.framework->service != nullptr) {
        facts.address = own_address(environment, place.layout.hosts().name(place.node));
    }
    if (!in_step) return node;
    facts.share.masks = masks_of_node(environment, place);
    facts.user_bound = environment.get("SLURM_CPU_BIND_TYPE").value_or("").substr(0, 4) == "none";
    facts.confined = all_of(facts.share.masks).count() <= facts.cpus;
    if (needs_topology(request)) add_topology(node, environment, command);
    return node;
}

}  // namespace distgpu
