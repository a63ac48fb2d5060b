// The pure function from facts to plan.
#include <distgpu/plan.h>

#include <fmt/format.h>

namespace distgpu {
namespace {

std::vector<std::string> unset_names(const Framework& framework) {
    std::vector<std::string> names;
    names.reserve(framework.unsets.size());
    for (const UnsetVariable& variable : framework.unsets) names.emplace_back(variable.name);
    return names;
}

std::vector<std::pair<std::string, std::string>> set_values(const Framework& framework,
                                                            const TaskContext& task) {
    std::vector<std::pair<std::string, std::string>> values;
    values.reserve(framework.sets.size());
    for (const SetVariable& variable : framework.sets) {
        values.emplace_back(variable.name, variable.value(task));
    }
    return values;
}

// The traps of a first hour: legal shapes that are seldom what was meant.
std::vector<std::string> warnings(const Framework& framework, std::uint32_t local_tasks,
                                  const NodeFacts& node) {
    std::vector<std::string> lines;
    if (framework.launcher_per_node) return lines;
    if (local_tasks == 1 && node.gpus > 1) {
        lines.push_back(fmt::format(
            "distgpu: --distgpu={}: one task on a node with {} GPUs, which trains on one GPU "
            "only; use --ntasks-per-node={}, or torchrun with --distgpu=torchrun",
            framework.mode, node.gpus, node.gpus));
    }
    if (node.gpus > 0 && node.cpus_per_task == 1) {
        lines.push_back(fmt::format(
            "distgpu: --distgpu={}: one CPU for each task, which starves the data loaders; use "
            "srun --cpus-per-task=N (srun does not take it over from sbatch)",
            framework.mode));
    }
    return lines;
}

// The suffix names the network on which rank 0 listens, so the node's own name
// gets it too.
std::string name_on_network(const Request& request, const RendezvousFacts& facts,
                            const std::string& node_name) {
    if (!request.master && facts.exported_address) return node_name;
    const Master& master = request.master ? *request.master : facts.default_master;
    return master.form == Master::Form::suffix ? node_name + master.text : node_name;
}

std::vector<TaskPlan> plan_tasks(const Request& request, const StepLayout& layout,
                                 const RendezvousFacts& facts, const NodeFacts& node_facts,
                                 const NodePlan& node) {
    const std::string own_name = name_on_network(request, facts, node.node_name);
    const std::string step_name = fmt::format("{}.{}", facts.step.job, facts.step.step);
    TaskContext context;
    context.world_size = layout.task_count();
    context.local_world_size = layout.tasks_on(node.node);
    context.node_count = layout.node_count();
    context.node_name = own_name;
    context.master_address = node.rendezvous.address;
    context.master_port = node.rendezvous.port;
    context.processes_per_node =
        request.nproc.value_or(node_facts.gpus > 0 ? node_facts.gpus : node_facts.cpus);
    context.step_name = step_name;

    std::vector<TaskPlan> tasks;
    tasks.reserve(context.local_world_size);
    for (const TaskId id : layout.task_ids(node.node)) {
        context.rank = rank_of(id);
        context.node_rank = node_rank_of(*request.framework, node.node, context.rank);
        context.local_rank = LocalId{static_cast<std::uint32_t>(tasks.size())};
        tasks.push_back(TaskPlan{id, context.rank, context.node_rank, context.local_rank,
                                 unset_names(*request.framework),
                                 set_values(*request.framework, context)});
    }
    return tasks;
}

}  // namespace

GlobalRank rank_of(TaskId task) {
    return GlobalRank{task.value};
}

NodeRank node_rank_of(const Framework& framework, NodeIndex node, GlobalRank rank) {
    // A launcher is its node's only task, so its rank numbers the node.
    return NodeRank{framework.launcher_per_node ? rank.value : node.value};
}

NodeIndex rank0_node(const StepLayout& layout) {
    return layout.place(TaskId{0}).node;
}

Result<NodePlan> plan(const Request& request, const StepLayout& layout, RendezvousFacts facts,
                      const NodeFacts& node_facts, NodeIndex node) {
    const Framework& framework = *request.framework;
    if (framework.check_step != nullptr) {
        if (auto refusal = framework.check_step(layout)) return std::move(*refusal);
    }
    facts.rank0_name = layout.hosts().name(rank0_node(layout));
    facts.ports_needed = 1U + framework.extra_ports;
    facts.tasks_per_node = layout.max_tasks_per_node();
    return rendezvous(request, facts).transform([&](Rendezvous meeting_point) {
        NodePlan result;
        result.node = node;
        result.node_name = layout.hosts().name(node);
        result.rendezvous = std::move(meeting_point);
        result.warnings = warnings(framework, layout.tasks_on(node), node_facts);
        result.tasks = plan_tasks(request, layout, facts, node_facts, result);
        return result;
    });
}

}  // namespace distgpu
