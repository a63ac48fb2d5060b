// The pure function from facts to plan.
#include "mapping/plan/plan.h"

#include "base/excerpt.h"
#include "base/format.h"
#include "mapping/binding/binding_policy.h"
#include "mapping/binding/device_values.h"
#include "mapping/frameworks/framework.h"
#include "mapping/frameworks/launchers.h"
#include "mapping/frameworks/program_options.h"
#include "mapping/plan/addresses.h"
#include "mapping/plan/launcher_line.h"
#include "mapping/plan/listening_ports.h"
#include "mapping/plan/plan_warnings.h"
#include "mapping/plan/processes.h"
#include "mapping/plan/rendezvous_address.h"

#include <algorithm>

namespace distgpu {
namespace {

std::vector<std::string> unset_names(const Framework& framework) {
    std::vector<std::string> names;
    names.reserve(framework.unsets.size());
    for (const UnsetVariable& variable : framework.unsets) names.emplace_back(variable.name);
    return names;
}

bool is_users_own(const SetVariable& variable, const NodeFacts& node) {
    return variable.users_own &&
           std::any_of(node.exported.begin(), node.exported.end(), [&](const std::string& name) {
               return name == variable.name || name == variable.older_name;
           });
}

void add_values(const Framework& framework, const NodeFacts& node, const TaskContext& context,
                TaskPlan& task) {
    task.set.reserve(framework.sets.size());
    for (const auto variables : {framework.sets, common_variables(), device_variables()}) {
        for (const SetVariable& variable : variables) {
            auto value = variable.value(context);
            if (!value) continue;
            auto& values = is_users_own(variable, node) ? task.yielded : task.set;
            values.emplace_back(variable.name, *std::move(value));
        }
    }
}

// An adapter that could not put the nodes into the order has said why, but not to other nodes.
std::optional<Error> not_in_order(const StepView& step) {
    if (!reorders(step.request) || !step.layout.order().empty()) return std::nullopt;
    return Error{formatted("order={}", excerpt(to_string(*step.request.order))),
                 "the order of the nodes was not sent with the step",
                 "load the plugin on the host of srun too, or leave order out"};
}

// Servers have nothing to do at times, which looks like a hang.
std::optional<Error> not_watched(const StepView& step) {
    const Watch watch = watch_of(step.request);
    if (watch.minutes == 0 || step.request.framework->service == nullptr) return std::nullopt;
    return Error{formatted("watch={}", to_string(watch)),
                 formatted("{} may wait for work as long as that", step.request.framework->mode),
                 "write watch alone, and ask distgpu why yourself"};
}

std::optional<Error> first_impossible(std::vector<Misfit> misfits) {
    const auto found = std::find_if(misfits.begin(), misfits.end(),
                                    [](const Misfit& misfit) { return misfit.impossible; });
    return found == misfits.end() ? std::nullopt : std::optional(std::move(found->error));
}

void add_possible(std::vector<Misfit> misfits, std::vector<Error>& warnings) {
    for (Misfit& misfit : misfits) {
        if (!misfit.impossible) warnings.push_back(std::move(misfit.error));
    }
}

std::optional<Error> refusal_of(const StepView& step, const RendezvousFacts& facts) {
    if (auto error = not_in_order(step)) return error;
    if (auto error = not_watched(step)) return error;
    const auto refuse = step.request.framework->refuse;
    if (auto error = refuse == nullptr ? std::nullopt : refuse(step)) return error;
    if (auto error = misleading_address(step, facts)) return error;
    auto misfit = program_misfit(step);
    if (misfit && misfit->impossible) return std::move(misfit->error);
    return first_impossible(launcher_misfits(step, facts));
}

std::optional<NodeBinding> bind_node(const Request& request, const NodeFacts& node) {
    if (node.topology == nullptr || node.share.masks.empty()) return std::nullopt;
    return bind(*node.topology, binding_policy(request, node), node.share);
}

// On which CPUs a task will run; null: not known.
const CpuSet* cpus_of(const NodeFacts& node, const std::optional<NodeBinding>& binding,
                      std::size_t task) {
    if (binding) return &binding->tasks[task].cpus;
    return node.share.masks.empty() ? nullptr : &node.share.masks[task];
}

// What the tasks of the planned node have in common. Points into its arguments.
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
    const std::string own_name = reachable_as(request, facts, plan.node_name, {});
    const std::string own_address = reachable_as(request, facts, plan.node_name, node.address);
    const std::string step_name = formatted("{}.{}", facts.step.job, facts.step.step);
    const RendezvousNeeds needs = rendezvous_needs(*request.framework, view.layout);
    TaskContext context = context_of_node(view, node, plan);
    context.node_name = own_name;
    context.reachable_as = own_address;
    context.step_name = step_name;
    context.spare_port = spare_port(facts.step, facts.derived_ports, room_of(needs));

    const std::optional<NodeBinding> binding = bind_node(request, node);
    const std::vector<DeviceValues> devices = device_values(
        request, node, binding ? &*binding : nullptr, context.local_world_size, context.node_count);
    std::vector<TaskPlan> tasks;
    tasks.reserve(context.local_world_size);
    for (const TaskId id : view.layout.task_ids(plan.node)) {
        const std::size_t local = tasks.size();
        context.local_rank = LocalRank{static_cast<std::uint32_t>(local)};
        context.rank = view.layout.rank(plan.node, context.local_rank);
        context.devices = &devices[local];
        context.threads =
            threads(request, node, context.local_world_size, cpus_of(node, binding, local));
        TaskPlan& task = tasks.emplace_back(TaskPlan{id,
                                                     context.rank,
                                                     context.node_rank,
                                                     context.local_rank,
                                                     unset_names(*request.framework),
                                                     {},
                                                     std::nullopt});
        add_values(*request.framework, node, context, task);
        if (const Service* const service = request.framework->service; service != nullptr) {
            task.options = options_of(*service, context);
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
    add_possible(launcher_misfits(view, step.rendezvous), warnings);
    return warnings;
}

Result<NodePlan> plan(const Request& request, const Step& step, const NodeFacts& node) {
    const Framework& framework = *request.framework;
    const StepLayout& layout = step.layout;
    const RendezvousNeeds needs = rendezvous_needs(framework, layout);
    return rendezvous(request, step.rendezvous, needs)
        .and_then([&](Rendezvous meeting_point) -> Result<NodePlan> {
            if (auto error = past_the_last_port(meeting_point, needs.ports)) {
                return *std::move(error);
            }
            const HostList addresses = addresses_of_nodes(request, step, meeting_point.address);
            const StepView view{request, layout, step.facts, addresses};
            if (auto error = refusal_of(view, step.rendezvous)) return *std::move(error);
            if (auto error = server_without_gpus(view, node)) return *std::move(error);
            std::vector<Misfit> misfits = launcher_misfits_on(view, node, meeting_point);
            if (auto error = first_impossible(misfits)) return *std::move(error);
            NodePlan result;
            result.node = node.node;
            result.node_name = layout.hosts().name(node.node);
            result.rendezvous = std::move(meeting_point);
            result.warnings = plan_warnings(view, node);
            add_possible(std::move(misfits), result.warnings);
            result.ports = ports_on(framework, layout, node.node, result.rendezvous.port);
            result.tasks = plan_tasks(view, step.rendezvous, node, result);
            return result;
        });
}

}  // namespace distgpu
