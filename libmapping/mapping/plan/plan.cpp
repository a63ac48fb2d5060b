// The pure function from facts to plan.
#include "mapping/plan/plan.h"

#include "base/format.h"
#include "mapping/binding/device_values.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace distgpu {
namespace {

std::vector<std::string> unset_names(const Framework& framework) {
    std::vector<std::string> names;
    names.reserve(framework.unsets.size());
    for (const UnsetVariable& variable : framework.unsets) names.emplace_back(variable.name);
    return names;
}

bool is_users_own(const SetVariable& variable, const NodeFacts& node) {
    return variable.users_own && std::find(node.exported.begin(), node.exported.end(),
                                           variable.name) != node.exported.end();
}

std::vector<std::pair<std::string, std::string>> set_values(const Framework& framework,
                                                            const NodeFacts& node,
                                                            const TaskContext& task) {
    std::vector<std::pair<std::string, std::string>> values;
    values.reserve(framework.sets.size());
    for (const auto variables : {framework.sets, common_variables(), device_variables()}) {
        for (const SetVariable& variable : variables) {
            if (is_users_own(variable, node)) continue;
            if (auto value = variable.value(task)) {
                values.emplace_back(variable.name, *std::move(value));
            }
        }
    }
    return values;
}

std::uint32_t processes_on(const Request& request, const NodeFacts& node) {
    return request.nproc.value_or(node.gpus > 0 ? node.gpus : node.cpus);
}

// What goes wrong with a launcher's processes on a node.
std::optional<std::string> launcher_warning(const Request& request, const NodeFacts& node) {
    const std::uint32_t processes = processes_on(request, node);
    if (node.gpus == 0 || processes <= node.gpus) return std::nullopt;
    return formatted("nproc={} on a node with {} in this step; use nproc={}, or ask for more",
                     processes, counted(node.gpus, "GPU"), node.gpus);
}

// What goes wrong with a task for each GPU.
std::optional<std::string> gpu_warning(const Framework& framework, std::uint32_t tasks,
                                       std::uint32_t gpus) {
    if (gpus == 0 || tasks == gpus) return std::nullopt;
    if (tasks > gpus) {
        return formatted(
            "{} on a node, but each sees {}, so that device LOCAL_RANK is missing; "
            "use --gpus-per-node={} or --gres=gpu:{} in place of --gpus-per-task "
            "and --gpu-bind, or --ntasks-per-node={}",
            counted(tasks, "task"), counted(gpus, "GPU"), tasks, tasks, gpus);
    }
    std::string remedy = formatted("use --ntasks-per-node={}", gpus);
    for (const Variant& variant : framework.variants) {
        if (tasks == 1 && variant.framework->launcher_per_node) {
            remedy += formatted(", or a launcher with --distgpu={}", variant.framework->mode);
        }
    }
    return formatted("{} on a node with {} GPUs, of which {} idle; {}", counted(tasks, "task"),
                     gpus, gpus - tasks == 1 ? "one is" : formatted("{} are", gpus - tasks),
                     remedy);
}

// The traps of a first hour: legal shapes that are seldom what was meant.
std::vector<std::string> warnings(const Request& request, std::uint32_t local_tasks,
                                  const NodeFacts& node) {
    const Framework& framework = *request.framework;
    std::vector<std::string> lines;
    const auto add = [&](const std::optional<std::string>& text) {
        if (text) lines.push_back(formatted("distgpu: --distgpu={}: {}", framework.mode, *text));
    };
    for (const std::string& text : binding_warnings(request, node)) add(text);
    if (framework.launcher_per_node) add(launcher_warning(request, node));
    if (!framework.one_gpu_per_task) return lines;
    add(gpu_warning(framework, local_tasks, node.gpus));
    if (node.gpus > 0 && node.cpus_per_task == 1) {
        add("one CPU for each task, which starves the data loaders; use srun --cpus-per-task=N "
            "(srun does not take it over from sbatch)");
    }
    return lines;
}

// The addresses of all nodes in the form that the request chose, and of rank 0's
// node the rendezvous's; only where the framework names them.
StepFacts with_addresses(const Request& request, const StepLayout& layout,
                         const RendezvousFacts& facts, StepFacts step,
                         const std::string& rank0_address) {
    if (!request.framework->names_all_nodes) return step;
    std::vector<std::string> addresses;
    addresses.reserve(layout.node_count());
    for (std::uint32_t i = 0; i < layout.node_count(); ++i) {
        const NodeIndex node{i};
        addresses.push_back(node_address(
            request, facts, layout.hosts().name(node),
            step.node_addresses.empty() ? std::string{} : step.node_addresses.name(node)));
    }
    if (!rank0_address.empty()) addresses[rank0_node(layout).value] = rank0_address;
    step.node_addresses = HostList::from_names(addresses);
    return step;
}

std::optional<Error> judge(const Request& request, const StepLayout& layout,
                           const StepFacts& step) {
    const auto refuse = request.framework->refuse;
    return refuse == nullptr ? std::nullopt : refuse({request, layout, step});
}

// CPUs for each process of a task. Slurm counts one CPU per task where none was
// asked for: then the task's share of the node, within the CPUs on which it runs.
std::uint32_t threads(const Request& request, const NodeFacts& node, std::uint32_t local_tasks,
                      const CpuSet* cpus_of_task) {
    if (request.keep_omp) return 0;
    std::uint32_t cpus = node.cpus_per_task;
    if (cpus <= 1) {
        cpus = node.cpus / local_tasks;
        if (cpus_of_task != nullptr) cpus = std::min(cpus, cpus_of_task->count());
    }
    if (request.framework->launcher_per_node) cpus /= processes_on(request, node);
    return std::max(cpus, 1U);
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

std::uint32_t ports_needed(const Framework& framework, const StepLayout& layout) {
    return framework.port_per_task ? layout.max_tasks_per_node() : framework.ports;
}

// The first port that is one too many.
std::optional<Error> past_the_last_port(const Rendezvous& meeting_point, std::uint32_t needed) {
    constexpr std::uint32_t last = std::numeric_limits<std::uint16_t>::max();
    if (needed <= 1 || meeting_point.port + (needed - 1) <= last) return std::nullopt;
    return Error{
        formatted("port {} (from {})", meeting_point.port, describe(meeting_point.port_source)),
        formatted("{} ports are needed from there on", needed),
        formatted("give one up to {} with --distgpu=...,port=N", last - needed + 1)};
}

std::vector<std::uint16_t> ports_on(const Framework& framework, const StepLayout& layout,
                                    NodeIndex node, std::uint16_t first) {
    std::uint32_t count = 0;
    if (framework.port_per_task) {
        count = layout.tasks_on(node);
    } else if (node == rank0_node(layout)) {
        count = framework.ports;
    }
    std::vector<std::uint16_t> ports(count);
    std::iota(ports.begin(), ports.end(), first);
    return ports;
}

std::vector<TaskPlan> plan_tasks(const StepView& step, const RendezvousFacts& facts,
                                 const NodeFacts& node_facts, const NodePlan& node) {
    const Request& request = step.request;
    const StepLayout& layout = step.layout;
    const std::string own_name = node_address(request, facts, node.node_name, {});
    const std::string own_address =
        node_address(request, facts, node.node_name, node_facts.address);
    const std::string step_name = formatted("{}.{}", facts.step.job, facts.step.step);
    TaskContext context;
    context.world_size = layout.task_count();
    context.local_world_size = layout.tasks_on(node.node);
    context.node_count = layout.node_count();
    context.node_name = own_name;
    context.node_address = own_address;
    context.master_address = node.rendezvous.address;
    context.master_port = node.rendezvous.port;
    context.processes_per_node = processes_on(request, node_facts);
    context.step_name = step_name;
    context.gpus = node_facts.gpus;
    context.node = node.node;
    context.step = &step;

    const std::optional<NodeBinding> binding = bind_node(request, node_facts);
    const std::vector<DeviceValues> devices =
        device_values(request, node_facts, binding ? &*binding : nullptr, context.local_world_size,
                      context.node_count);
    std::vector<TaskPlan> tasks;
    tasks.reserve(context.local_world_size);
    for (const TaskId id : layout.task_ids(node.node)) {
        context.rank = rank_of(id);
        context.node_rank = node_rank_of(*request.framework, node.node, context.rank);
        const std::size_t local = tasks.size();
        context.local_rank = LocalId{static_cast<std::uint32_t>(local)};
        context.devices = &devices[local];
        context.threads = threads(request, node_facts, context.local_world_size,
                                  cpus_of(node_facts, binding, local));
        TaskPlan& task = tasks.emplace_back(
            TaskPlan{id, context.rank, context.node_rank, context.local_rank,
                     unset_names(*request.framework),
                     set_values(*request.framework, node_facts, context), std::nullopt});
        if (binding) task.binding = binding->tasks[local];
    }
    return tasks;
}

}  // namespace

GlobalRank rank_of(TaskId task) {
    return GlobalRank{task.value};
}

TaskId task_of(GlobalRank rank) {
    return TaskId{rank.value};
}

NodeRank node_rank_of(const Framework& framework, NodeIndex node, GlobalRank rank) {
    // A launcher is its node's only task, so its rank numbers the node.
    return NodeRank{framework.launcher_per_node ? rank.value : node.value};
}

NodeIndex rank0_node(const StepLayout& layout) {
    return layout.place(TaskId{0}).node;
}

std::optional<Error> refusal(const Request& request, const StepLayout& layout,
                             const RendezvousFacts& facts, const StepFacts& step_facts) {
    return judge(request, layout, with_addresses(request, layout, facts, step_facts, {}));
}

std::optional<Error> warning(const Request& request, const StepLayout& layout,
                             const StepFacts& step_facts) {
    const auto warn = request.framework->warn;
    return warn == nullptr ? std::nullopt : warn({request, layout, step_facts});
}

bool needs_topology(const Request& request) {
    const BindingPolicy policy = binding_policy(request, NodeFacts{.confined = true});
    return policy.gpus != GpuChoice::keep || policy.near_cpus || policy.near_hcas;
}

Result<NodePlan> plan(const Request& request, const StepLayout& layout, RendezvousFacts facts,
                      const StepFacts& step_facts, const NodeFacts& node_facts, NodeIndex node) {
    const Framework& framework = *request.framework;
    facts.rank0_name = layout.hosts().name(rank0_node(layout));
    facts.ports_needed = std::max(1U, ports_needed(framework, layout));
    facts.tasks_per_node = layout.max_tasks_per_node();
    return rendezvous(request, facts).and_then([&](Rendezvous meeting_point) -> Result<NodePlan> {
        if (auto error = past_the_last_port(meeting_point, facts.ports_needed)) {
            return *std::move(error);
        }
        const StepFacts complete =
            with_addresses(request, layout, facts, step_facts, meeting_point.address);
        if (auto error = judge(request, layout, complete)) return *std::move(error);
        NodePlan result;
        result.node = node;
        result.node_name = layout.hosts().name(node);
        result.rendezvous = std::move(meeting_point);
        result.warnings = warnings(request, layout.tasks_on(node), node_facts);
        result.ports = ports_on(framework, layout, node, result.rendezvous.port);
        result.tasks = plan_tasks({request, layout, complete}, facts, node_facts, result);
        return result;
    });
}

}  // namespace distgpu
