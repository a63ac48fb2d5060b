#include "node/own_task.h"

#include "base/excerpt.h"
#include "base/format.h"
#include "base/io/resolve.h"
#include "base/values.h"
#include "mapping/binding/binding_policy.h"
#include "mapping/frameworks/framework.h"
#include "node/affinity.h"
#include "node/gpu_devices.h"
#include "node/gpu_ownership.h"
#include "node/task_environment.h"
#include "slurm/rank_order.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace distgpu {
namespace {

// What the launcher does not tell, and the user has to.
std::optional<Error> unknown_nodes(const Request& request, const Place& place,
                                   const Environment& environment) {
    if (place.knows_hosts) return std::nullopt;
    const std::string launcher(name_of(place.launcher));
    if (request.framework->names_all_nodes) {
        return Error{option_of(request),
                     formatted("TF_CONFIG names every node, but {} does not name them", launcher),
                     "start it with srun"};
    }
    const bool given = request.master && request.master->form == Master::Form::host;
    if (given || exported(environment, "MASTER_ADDR")) return std::nullopt;
    return Error{"MASTER_ADDR", formatted("{} does not say which node runs rank 0", launcher),
                 "give the key master=HOST, or export MASTER_ADDR"};
}

// Slurm's variables speak of its own tasks, not of what mpirun started in one of them.
bool is_slurms(const Place& place) {
    return place.launcher == Launcher::slurm;
}

Step step_of(const Environment& environment, const Place& place,
             const std::vector<std::string>& program) {
    Step step = collect_step(environment, place.layout);
    step.facts.program = program;
    step.rendezvous.step = place.step;
    step.rendezvous.rank0_address = place.rank0_address;
    if (is_slurms(place)) {
        step.facts.mpi_type = environment.get("SLURM_MPI_TYPE").value_or("");
    } else {
        step.rendezvous.reserved_ports.reset();
    }
    return step;
}

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

// GPUs that Slurm bound to this task alone, or gave to several jobs, are not ours to order.
void add_gpus(NodeFacts& facts, const Environment& environment) {
    facts.gpu_names.variables = gpu_variables(environment);
    if (gpu_owner(environment) != GpuOwner::step) return;
    const NodeTopology& topology = *facts.topology;
    const auto usable = usable_gpus(topology);
    set_gpus(facts, step_gpus(topology, usable, visible_gpus(environment),
                              likely_numbering(topology, usable)));
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

NodeSource source_of(const Request& request, const Place& place) {
    const std::string name = place.layout.hosts().name(place.node);
    NodeSource source{.address = place.layout.node_count() > 1 ? name : std::string(),
                      .name = name,
                      .remedy = "remove it from that line of /etc/hosts"};
    if (is_slurms(place) && needs_topology(request)) {
        source.topology = TopologySource{default_topology_file, false, own_command()};
    }
    return source;
}

// CPUs are bound where Slurm's variables tell the masks of all the node's tasks
// (SLURM_CPU_BIND_LIST of mask_cpu, or no binding at all), GPUs where every task of the step sees
// all of the step's. Elsewhere they stay as they are.
NodeFacts facts_of(const Environment& environment, const Request& request, const Place& place,
                   const OwnNode& node) {
    NodeFacts facts = collect_facts(environment, environment, node);
    facts.node = place.node;
    facts.cpus_per_task = cpu_count(environment, "SLURM_CPUS_PER_TASK").value_or(0);
    facts.share.cpus_per_task = facts.cpus_per_task;
    if (request.framework->service != nullptr) {
        facts.address = own_address(environment, place.layout.hosts().name(place.node));
    }
    if (!is_slurms(place)) return facts;
    facts.share.masks = masks_of_node(environment, place);
    facts.user_bound = environment.get("SLURM_CPU_BIND_TYPE").value_or("").substr(0, 4) == "none";
    facts.confined = all_of(facts.share.masks).count() <= facts.cpus;
    if (facts.topology != nullptr) add_gpus(facts, environment);
    return facts;
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

std::string own_command() {
    std::array<char, 4096> path{};
    const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
    return length > 0 ? std::string(path.data(), static_cast<std::size_t>(length)) : "distgpu";
}

std::optional<Error> refused(const Request& request, const Place& place,
                             const Environment& environment,
                             const std::vector<std::string>& program) {
    if (auto error = unknown_nodes(request, place, environment)) return error;
    return refusal(request, step_of(environment, place, program));
}

Result<std::string> order_nodes(const Request& request, Place& place,
                                const Environment& environment) {
    if (!reorders(request) || !place.layout.order().empty()) return std::string{};
    const std::string key = formatted("order={}", excerpt(to_string(*request.order)));
    if (!place.knows_hosts) {
        return Error{key, formatted("{} does not name the nodes", name_of(place.launcher)),
                     "start it with srun"};
    }
    if (request.order->source == RankOrder::Source::switches &&
        place.layout.task_count() > most_asking_tasks) {
        return Error{key,
                     formatted("at most {} tasks may ask slurmctld, but the step has {}",
                               most_asking_tasks, place.layout.task_count()),
                     "name the nodes in a file (order=./FILE), or use srun --distgpu"};
    }
    return read_order_list(*request.order, environment)
        .and_then([&](const HostList& list) {
            return put_in_order(*request.order, list, place.layout, environment);
        })
        .transform([&](OrderedLayout ordered) {
            place.layout = std::move(ordered.layout);
            return std::move(ordered.text);
        });
}

Result<OwnTask> plan_own_task(Request request, Place place, const Environment& environment,
                              const std::vector<std::string>& program) {
    OwnNode node = find_own_node(source_of(request, place));
    NodeFacts facts = facts_of(environment, request, place, node);
    return plan(request, step_of(environment, place, program), facts)
        .transform([&](NodePlan planned) {
            return OwnTask{std::move(request), std::move(place), std::move(node), std::move(facts),
                           std::move(planned)};
        });
}

}  // namespace distgpu
