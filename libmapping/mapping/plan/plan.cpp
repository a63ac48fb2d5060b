#include "mapping/plan/plan.h"

#include "base/format.h"
#include "base/values.h"
#include "mapping/binding/device_values.h"
#include "mapping/frameworks/service.h"
#include "mapping/plan/plan_warnings.h"

#include <limits>
#include <numeric>

namespace distgpu {

RendezvousNeeds rendezvous_needs(const Framework& framework, const StepLayout& layout) {
    const std::uint32_t tasks = layout.max_tasks_per_node();
    const std::uint32_t ports = framework.port_per_task ? tasks : framework.ports;
    return {layout.hosts().name(rank0_node(layout)), std::max(1U, ports), tasks};
}

std::vector<std::uint16_t> ports_on(const Framework& framework, const StepLayout& layout,
                                    NodeIndex node, std::uint16_t first) {
    std::uint32_t count = 0;
    if (framework.port_per_task) {
        count = layout.tasks_on(node);
    } else if (framework.ports_on_all_nodes || node == rank0_node(layout)) {
        count = framework.ports;
    }
    std::vector<std::uint16_t> ports(count);
    std::iota(ports.begin(), ports.end(), first);
    return ports;
}

namespace {

// Whether every node resolves the host to itself; connecting to 0.0.0.0 or :: reaches the loopback.
bool is_loopback(std::string_view host) {
    constexpr std::string_view names =
        "localhost localhost.localdomain localhost6 ip6-localhost ::1 0:0:0:0:0:0:0:1 ::";
    const bool is_ipv4 = host.find_first_not_of("0123456789.") == std::string_view::npos;
    return has_word(names, host) || (is_ipv4 && (host.starts_with("127.") || host == "0.0.0.0"));
}

bool is_of_another_node(const StepView& step, const RendezvousFacts& facts, std::string_view host) {
    const HostList& nodes = step.layout.hosts();
    const HostList& addresses = step.facts.node_addresses;
    const NodeIndex rank0 = rank0_node(step.layout);
    if (host == facts.rank0_address || host == nodes.name(rank0)) return false;
    // Several nodes of one machine can have one address.
    if (!addresses.empty() && host == addresses.name(rank0)) return false;
    return nodes.find(host).has_value() || addresses.find(host).has_value();
}

}  // namespace

std::optional<ChosenAddress> chosen_address(const Request& request, const RendezvousFacts& facts) {
    const std::optional<MasterAddress>& master = request.master;
    const bool by_key = master && master->form == MasterAddress::Form::host;
    const bool is_exported = !master && facts.exported_address;
    const bool has_rendezvous = request.framework->ports > 0;
    if (!has_rendezvous || !(by_key || is_exported)) return std::nullopt;
    const std::string& host = by_key ? master->text : *facts.exported_address;
    return ChosenAddress{host, formatted("{}={}", by_key ? "master" : "MASTER_ADDR", excerpt(host)),
                         by_key ? "leave master= out" : "unset MASTER_ADDR"};
}

std::optional<std::string> host_problem(const StepView& step, const RendezvousFacts& facts,
                                        std::string_view host) {
    if (step.layout.node_count() == 1) return std::nullopt;
    if (is_loopback(host)) {
        return formatted("each of the step's {} nodes would look for rank 0 on itself",
                         step.layout.node_count());
    }
    if (!is_of_another_node(step, facts, host)) return std::nullopt;
    return formatted("rank 0 runs on {}", step.layout.hosts().name(rank0_node(step.layout)));
}

namespace {

// OMP_NUM_THREADS for each process of one of the node's `local_tasks` tasks; 0: it is left alone.
// `cpus_of_task`: on which the task will run; null if unknown.
std::uint32_t threads(const Request& request, const NodeFacts& node, std::uint32_t local_tasks,
                      const CpuSet* cpus_of_task) {
    if (request.keep_omp || request.framework->chooses_threads) return 0;
    std::uint32_t cpus = node.cpus_per_task;
    if (cpus <= 1) {
        // Without --cpus-per-task, Slurm counts one CPU per task. Use the task's share of the node
        // instead, within the CPUs on which it runs.
        cpus = node.cpus / local_tasks;
        if (cpus_of_task != nullptr) cpus = std::min(cpus, cpus_of_task->count());
    }
    if (request.framework->launcher_per_node) cpus /= processes_on(request, node);
    return std::max(cpus, 1U);
}

// An address for each node, in the form that the request chose; `rank0_address`, if not empty, for
// rank 0's node. Empty if the framework does not name the nodes.
HostList addresses_of_nodes(const Request& request, const Step& step,
                            const std::string& rank0_address) {
    if (!request.framework->names_all_nodes) return {};
    const StepLayout& layout = step.layout;
    const HostList& known = step.facts.node_addresses;
    std::vector<std::string> addresses;
    addresses.reserve(layout.node_count());
    for (std::uint32_t i = 0; i < layout.node_count(); ++i) {
        const NodeIndex node{i};
        addresses.push_back(reachable_address(request, step.rendezvous, layout.hosts().name(node),
                                              known.empty() ? std::string{} : known.name(node)));
    }
    if (!rank0_address.empty()) addresses[rank0_node(layout).value] = rank0_address;
    return HostList::from_names(addresses);
}

void add_variables(const Framework& framework, const NodeFacts& node, const TaskContext& context,
                   TaskPlan& task) {
    for (const UnsetVariable& variable : framework.unsets) task.unset.emplace_back(variable.name);
    for (const auto variables : {framework.sets, common_variables(), device_variables()}) {
        for (const SetVariable& variable : variables) {
            auto value = variable.value(context);
            if (!value) continue;
            const bool is_users =
                variable.users_own &&
                std::ranges::any_of(node.exported, [&variable](const std::string& name) {
                    return name == variable.name || name == variable.older_name;
                });
            (is_users ? task.overridden_by_user : task.set)
                .emplace_back(variable.name, *std::move(value));
        }
    }
}

// The adapter that failed to order the nodes has reported why, but this node does not know it.
std::optional<Error> refuse_missing_order(const StepView& step) {
    if (!reorders_nodes(step.request) || !step.layout.order().empty()) return std::nullopt;
    return Error{formatted("order={}", excerpt(to_string(*step.request.order))),
                 "the node order was not sent with the step",
                 "load the plugin on srun's host too, or leave order out"};
}

// A server without requests looks like a hang.
std::optional<Error> refuse_watched_service(const StepView& step) {
    const Watch watch = watch_of(step.request);
    if (watch.minutes == 0 || step.request.framework->service == nullptr) return std::nullopt;
    return Error{formatted("watch={}", to_string(watch)),
                 formatted("{} may be idle for that long", step.request.framework->mode),
                 "write watch without minutes, and run distgpu why yourself"};
}

// Refuses an address chosen by the user at which the nodes would not find rank 0.
std::optional<Error> refuse_wrong_address(const StepView& step, const RendezvousFacts& facts) {
    auto chosen = chosen_address(step.request, facts);
    auto problem = chosen ? host_problem(step, facts, chosen->host) : std::nullopt;
    if (!problem) return std::nullopt;
    return Error{std::move(chosen->object), *std::move(problem), std::move(chosen->remedy)};
}

std::optional<Error> first_refusal(std::vector<Mismatch> mismatches) {
    const auto found = std::ranges::find_if(
        mismatches, [](const Mismatch& mismatch) { return mismatch.is_refusal; });
    return found == mismatches.end() ? std::nullopt : std::optional(std::move(found->error));
}

void add_warnings(std::vector<Mismatch> mismatches, std::vector<Error>& warnings) {
    for (Mismatch& mismatch : mismatches) {
        if (!mismatch.is_refusal) warnings.push_back(std::move(mismatch.error));
    }
}

std::optional<Error> refusal_of(const StepView& step, const RendezvousFacts& facts) {
    if (auto error = refuse_missing_order(step)) return error;
    if (auto error = refuse_watched_service(step)) return error;
    const auto refuse = step.request.framework->refuse;
    if (auto error = refuse == nullptr ? std::nullopt : refuse(step)) return error;
    if (auto error = refuse_wrong_address(step, facts)) return error;
    auto mismatch = program_mismatch(step);
    if (mismatch && mismatch->is_refusal) return std::move(mismatch->error);
    return first_refusal(launcher_mismatches(step, facts));
}

// The context that all tasks of the planned node share. Points into the arguments.
TaskContext context_of_node(const StepView& view, const NodeFacts& facts, const NodePlan& plan) {
    TaskContext context;
    context.world_size = view.layout.task_count();
    context.local_world_size = view.layout.tasks_on(plan.node);
    context.node_count = view.layout.node_count();
    context.master_address = plan.rendezvous.address;
    context.master_port = plan.rendezvous.port;
    context.processes_per_node = processes_on(view.request, facts);
    context.gpus = facts.gpus;
    context.cpus = facts.cpus;
    context.memory = facts.memory;
    context.node = plan.node;
    context.node_rank = view.layout.node_rank(plan.node);
    context.step = &view;
    context.node_address = facts.address.empty() ? std::string_view(plan.node_name) : facts.address;
    return context;
}

std::vector<TaskPlan> plan_tasks(const StepView& view, const RendezvousFacts& facts,
                                 const NodeFacts& node, const NodePlan& plan) {
    const Request& request = view.request;
    const std::string own_name = reachable_address(request, facts, plan.node_name, {});
    const std::string own_address = reachable_address(request, facts, plan.node_name, node.address);
    const std::string step_name = formatted("{}.{}", facts.step.job, facts.step.step);
    const RendezvousNeeds needs = rendezvous_needs(*request.framework, view.layout);
    TaskContext context = context_of_node(view, node, plan);
    context.node_name = own_name;
    context.reachable_address = own_address;
    context.step_name = step_name;
    context.spare_port = spare_port(facts.step, facts.derived_ports, min_port_count(needs));

    std::optional<NodeBinding> binding;
    if (node.topology != nullptr && !node.share.masks.empty()) {
        binding = bind(*node.topology, binding_policy(request, node), node.share);
    }
    const std::vector<DeviceValues> devices = device_values(
        request, node, binding ? &*binding : nullptr, context.local_world_size, context.node_count);
    std::vector<TaskPlan> tasks;
    tasks.reserve(context.local_world_size);
    for (const TaskId id : view.layout.task_ids(plan.node)) {
        const std::size_t local = tasks.size();
        context.local_rank = LocalRank{static_cast<std::uint32_t>(local)};
        context.rank = view.layout.rank(plan.node, context.local_rank);
        context.devices = &devices[local];
        const CpuSet* cpus = node.share.masks.empty() ? nullptr : &node.share.masks[local];
        if (binding) cpus = &binding->tasks[local].cpus;
        context.threads = threads(request, node, context.local_world_size, cpus);
        TaskPlan& task = tasks.emplace_back(
            TaskPlan{id, context.rank, context.node_rank, context.local_rank, {}, {}});
        add_variables(*request.framework, node, context, task);
        if (const Service* const service = request.framework->service; service != nullptr) {
            task.options = service_options(*service, context);
        }
        if (binding) task.binding = binding->tasks[local];
    }
    return tasks;
}

}  // namespace

std::optional<Error> refusal(const Request& request, const Step& step) {
    const HostList addresses = addresses_of_nodes(request, step, {});
    return refusal_of({request, step.layout, step.facts, addresses}, step.rendezvous);
}

std::vector<Error> step_warnings(const Request& request, const Step& step) {
    const HostList addresses = addresses_of_nodes(request, step, {});
    const StepView view{request, step.layout, step.facts, addresses};
    std::vector<Error> warnings = step_warnings(view);
    add_warnings(launcher_mismatches(view, step.rendezvous), warnings);
    return warnings;
}

Result<NodePlan> plan(const Request& request, const Step& step, const NodeFacts& node) {
    const Framework& framework = *request.framework;
    const StepLayout& layout = step.layout;
    const RendezvousNeeds needs = rendezvous_needs(framework, layout);
    return choose_rendezvous(request, step.rendezvous, needs)
        .and_then([&](Rendezvous chosen) -> Result<NodePlan> {
            constexpr std::uint32_t last = std::numeric_limits<std::uint16_t>::max();
            if (needs.ports > 1 && chosen.port + (needs.ports - 1) > last) {
                return Error{formatted("port {} (from {})", chosen.port, port_source_text(chosen)),
                             formatted("{} consecutive ports are needed from here", needs.ports),
                             formatted("give one up to {} with --distgpu=...,port=N",
                                       last - needs.ports + 1)};
            }
            const HostList addresses = addresses_of_nodes(request, step, chosen.address);
            const StepView view{request, layout, step.facts, addresses};
            if (auto error = refusal_of(view, step.rendezvous)) return *std::move(error);
            if (auto error = refuse_server_without_gpus(view, node)) return *std::move(error);
            std::vector<Mismatch> mismatches = node_launcher_mismatches(view, node, chosen);
            if (auto error = first_refusal(mismatches)) return *std::move(error);
            NodePlan result;
            result.node = node.node;
            result.node_name = layout.hosts().name(node.node);
            result.rendezvous = std::move(chosen);
            result.warnings = plan_warnings(view, node);
            add_warnings(std::move(mismatches), result.warnings);
            result.ports = ports_on(framework, layout, node.node, result.rendezvous.port);
            result.tasks = plan_tasks(view, step.rendezvous, node, result);
            return result;
        });
}

}  // namespace distgpu
