#include "node/own_task.h"

#include "base/format.h"
#include "base/io/resolve.h"
#include "base/values.h"
#include "mapping/binding/binding.h"
#include "mapping/frameworks/framework.h"
#include "node/gpus.h"
#include "node/machine.h"
#include "node/task_environment.h"
#include "slurm/rank_order.h"

#include <algorithm>
#include <charconv>
#include <unistd.h>

namespace distgpu {
namespace {

// The error if the launcher does not name the nodes and the user gave no address.
std::optional<Error> unknown_nodes(const Request& request, const ProcessPlace& place,
                                   const Environment& environment) {
    if (place.knows_hosts) return std::nullopt;
    const std::string launcher(name_of(place.launcher));
    if (request.framework->names_all_nodes) {
        return Error{option_of(request),
                     formatted("TF_CONFIG names every node, but {} does not name them", launcher),
                     "start it with srun"};
    }
    const bool has_host = request.master && request.master->form == MasterAddress::Form::host;
    if (has_host || exported(environment, "MASTER_ADDR")) return std::nullopt;
    return Error{"MASTER_ADDR", formatted("{} does not say which node runs rank 0", launcher),
                 "give the key master=HOST, or export MASTER_ADDR"};
}

Step step_of(const Environment& environment, const ProcessPlace& place,
             const std::vector<std::string>& program) {
    Step step = collect_step(environment, place.layout);
    step.facts.program = program;
    step.rendezvous.step = place.step;
    step.rendezvous.rank0_address = place.rank0_address;
    if (place.launcher == Launcher::slurm) {
        step.facts.mpi_type = environment.text("SLURM_MPI_TYPE");
    } else {
        // Slurm's variables describe its own tasks, not the ranks that mpirun started in one.
        step.rendezvous.reserved_ports.reset();
    }
    return step;
}

// The CPUs of a hexadecimal mask; empty if `text` is not one.
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

// The CPU masks of all tasks of the node, which Slurm bound by `type`; empty if unknown.
std::vector<CpuSet> masks_of_node(const Environment& environment, const ProcessPlace& place,
                                  const std::string& type) {
    const std::size_t tasks = place.layout.tasks_on(place.node);
    const CpuSet own = own_cpus();
    if (own.empty()) return {};
    if (tasks == 1 || type.empty() || type.starts_with("none")) return {tasks, own};
    if (!type.starts_with("mask_cpu")) return {};
    auto masks = parse_masks(environment.text("SLURM_CPU_BIND_LIST"), tasks);
    // If the list is wrong about this task, it may be wrong about the others.
    if (!masks.empty() && masks[place.local.value] != own) masks.clear();
    return masks;
}

// The plugin's value if it prepared the task; otherwise an address of `name` that is not loopback.
std::string own_address(const Environment& environment, const std::string& name) {
    constexpr std::chrono::seconds patience{5};
    const auto prepared = environment.get("NODE_ADDR");
    if (prepared && prepared_spec(environment)) return *prepared;
    const auto addresses = resolve(name, 0, Clock::now() + patience);
    if (!addresses) return {};
    const auto found = std::find_if(addresses->begin(), addresses->end(),
                                    [](const Address& each) { return !each.is_loopback(); });
    return found == addresses->end() ? std::string{} : found->to_string();
}

// CPUs are bound if Slurm's variables give the masks of all the node's tasks (SLURM_CPU_BIND_LIST
// of mask_cpu, or no binding at all), GPUs if every task sees all GPUs of the step. Otherwise they
// stay as they are.
NodeFacts facts_of(const Environment& environment, const Request& request,
                   const ProcessPlace& place, const OwnNode& node) {
    NodeFacts facts = collect_facts(environment, environment, node,
                                    cpu_count(environment, "SLURM_CPUS_PER_TASK").value_or(0));
    facts.node = place.node;
    if (request.framework->service != nullptr) {
        facts.address = own_address(environment, place.layout.hosts().name(place.node));
    }
    if (place.launcher != Launcher::slurm) return facts;
    const std::string type = environment.text("SLURM_CPU_BIND_TYPE");
    facts.share.masks = masks_of_node(environment, place, type);
    facts.has_cpu_bind = type.starts_with("none");
    facts.is_confined = all_cpus(facts.share).count() <= facts.cpus;
    if (facts.topology == nullptr) return facts;
    // distgpu does not order GPUs that Slurm bound to this task alone or gave to several jobs.
    facts.gpu_names.variables = gpu_variables(environment);
    if (gpu_owner(environment) == GpuOwner::step) {
        const auto usable = usable_gpus(*facts.topology);
        set_gpus(facts, step_gpus(*facts.topology, usable, visible_gpus(environment),
                                  likely_numbering(*facts.topology, usable)));
    }
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

std::string own_program_path() {
    std::array<char, 4096> path{};
    const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
    return length > 0 ? std::string(path.data(), static_cast<std::size_t>(length)) : "distgpu";
}

std::optional<Error> find_refusal(const Request& request, const ProcessPlace& place,
                                  const Environment& environment,
                                  const std::vector<std::string>& program) {
    if (auto error = unknown_nodes(request, place, environment)) return error;
    return refusal(request, step_of(environment, place, program));
}

Result<std::string> order_nodes(const Request& request, ProcessPlace& place,
                                const Environment& environment) {
    if (!reorders_nodes(request) || !place.layout.order().empty()) return std::string{};
    const std::string key = formatted("order={}", excerpt(to_string(*request.order)));
    if (!place.knows_hosts) {
        return Error{key, formatted("{} does not name the nodes", name_of(place.launcher)),
                     "start it with srun"};
    }
    if (request.order->source == RankOrder::Source::switches &&
        place.layout.task_count() > max_querying_tasks) {
        return Error{key,
                     formatted("at most {} tasks may ask slurmctld, but the step has {}",
                               max_querying_tasks, place.layout.task_count()),
                     "name the nodes in a file (order=./FILE), or use srun --distgpu"};
    }
    return read_order_list(*request.order, environment)
        .and_then([&](const HostList& list) {
            return apply_order(*request.order, list, place.layout, environment);
        })
        .transform([&](OrderedLayout ordered) {
            place.layout = std::move(ordered.layout);
            return std::move(ordered.text);
        });
}

Result<OwnTask> plan_own_task(Request request, ProcessPlace place, const Environment& environment,
                              const std::vector<std::string>& program) {
    const std::string name = place.layout.hosts().name(place.node);
    NodeSource source{.address = place.layout.node_count() > 1 ? name : std::string(),
                      .name = name,
                      .remedy = "remove it from that line of /etc/hosts"};
    if (place.launcher == Launcher::slurm && needs_topology(request)) {
        source.topology = TopologySource{default_topology_file, false, own_program_path()};
    }
    OwnNode node = find_own_node(source);
    NodeFacts facts = facts_of(environment, request, place, node);
    return plan(request, step_of(environment, place, program), facts)
        .transform([&](NodePlan planned) {
            return OwnTask{std::move(request), std::move(place), std::move(node), std::move(facts),
                           std::move(planned)};
        });
}

}  // namespace distgpu
