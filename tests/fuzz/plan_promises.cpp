// What holds of the plan of every step and of every topology.
#include "base/values.h"
#include "mapping/frameworks/framework.h"
#include "mapping/layout/step_layout.h"
#include "mapping/spec/parse_spec.h"
#include "targets.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

using Values = std::map<std::string, std::string>;

Values values_of(const TaskPlan& task) {
    Values values;
    for (const auto& [name, value] : task.set) {
        require(!name.empty() && name.find('=') == std::string::npos, "a variable has a name");
        require(values.emplace(name, value).second, "each variable once");
        if (!value.empty()) require_line(value);
    }
    return values;
}

bool is_reachable(const std::string& address) {
    return !address.empty() && std::all_of(address.begin(), address.end(), is_host_character);
}

// Where the framework's tasks get the variable at all.
void require_value(const Values& values, const char* name, std::uint32_t expected) {
    const auto found = values.find(name);
    require(found == values.end() || found->second == std::to_string(expected), name);
}

void require_ranks(const Framework& framework, const TaskPlan& task, const NodePlan& node,
                   const StepLayout& layout) {
    const Values values = values_of(task);
    // A launcher's processes have ranks of their own.
    if (!framework.launcher_per_node) {
        require_value(values, "RANK", task.rank.value);
        require_value(values, "LOCAL_RANK", task.local_rank.value);
        require_value(values, "WORLD_SIZE", layout.task_count());
        require_value(values, "LOCAL_WORLD_SIZE", layout.tasks_on(node.node));
    }
    require_value(values, "NODE_RANK", task.node_rank.value);
    require_value(values, "MASTER_PORT", node.rendezvous.port);
    const auto address = values.find("MASTER_ADDR");
    require(address == values.end() || is_reachable(address->second), "MASTER_ADDR is a host");
}

void require_binding(const TaskBinding& binding, const NodeTopology& topology, const CpuSet& mask) {
    require(mask.contains(binding.cpus), "no CPU that Slurm did not give");
    require(binding.cpus.empty() == mask.empty(), "a task has CPUs");
    for (const std::uint32_t gpu : binding.gpus) {
        require(gpu < topology.gpus.size(), "a GPU of the node");
    }
    if (!binding.port) return;
    require(binding.port->hca < topology.hcas.size(), "an HCA of the node");
    require(binding.port->port < topology.hcas[binding.port->hca].ports.size(), "a port of it");
}

void require_complete(const Framework& framework, const NodePlan& plan, const StepLayout& layout,
                      const NodeFacts& facts) {
    require(plan.node_name == layout.hosts().name(plan.node), "the node's name");
    require(plan.rendezvous.port >= 1024 && is_reachable(plan.rendezvous.address), "a rendezvous");
    require(plan.tasks.size() == layout.tasks_on(plan.node), "every task of the node is planned");
    for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
        const TaskPlan& task = plan.tasks[i];
        const LocalRank local{static_cast<std::uint32_t>(i)};
        require(task.local_rank == local, "in the order of local ranks");
        require(task.task == layout.task(plan.node, local), "each task where the layout has it");
        require(task.rank == rank_of(layout, task.task), "with its rank");
        require(task.node_rank == layout.node_rank(plan.node), "and its node's");
        require_ranks(framework, task, plan, layout);
        const bool bound = facts.topology != nullptr && !facts.share.masks.empty();
        require(task.binding.has_value() == bound, "bound where the topology is known");
        if (bound) require_binding(*task.binding, *facts.topology, facts.share.masks[i]);
    }
    for (const Error& warning : plan.warnings) require_line(warning.message());
}

constexpr std::uint32_t tasks = 3;
// NumbersByNode them costs the cube of their number.
constexpr std::size_t most_gpus = 32;

void require_whole(const NodeTopology& topology) {
    for (const Core& core : topology.cores) {
        require(core.numa < topology.numas.size() && !core.cpus.empty(), "a core is somewhere");
    }
    require(topology.distances.size() == topology.gpus.size(), "a row of distances each GPU");
    for (const auto& row : topology.distances) {
        require(row.size() == topology.hcas.size(), "a distance for each HCA");
    }
    const auto verdicts = port_eligibility(topology);
    require(verdicts.size() == topology.hcas.size(), "a verdict of each HCA");
    for (std::size_t hca = 0; hca < verdicts.size(); ++hca) {
        require(verdicts[hca].size() == topology.hcas[hca].ports.size(), "and of each port");
    }
}

// The topology's CPUs, or, where it tells none, those that Slurm knows all the same.
CpuSet cpus_of(const NodeTopology& topology) {
    CpuSet cpus;
    for (const Core& core : topology.cores) cpus |= core.cpus;
    return cpus.empty() ? CpuSet::range(0, tasks) : cpus;
}

NodeFacts facts_of(const NodeTopology& topology) {
    NodeFacts facts;
    facts.topology = &topology;
    facts.cpus = cpus_of(topology).count();
    facts.is_confined = true;
    for (std::uint32_t i = 0; i < std::min(topology.gpus.size(), most_gpus); ++i) {
        facts.share.gpus.push_back(i);
        facts.gpu_names.names.push_back(std::to_string(i));
    }
    facts.gpus = static_cast<std::uint32_t>(facts.share.gpus.size());
    facts.gpu_names.variables = {"CUDA_VISIBLE_DEVICES"};
    return facts;
}

}  // namespace

void require_complete_plans(const Request& request, const Step& step, NodeFacts facts) {
    const StepLayout& layout = step.layout;
    const NodeIndex last = layout.place(TaskId{layout.task_count() - 1}).node;
    for (const NodeIndex node : {facts.node, rank0_node(layout), last}) {
        facts.node = node;
        const auto planned = plan(request, step, facts);
        if (planned) {
            require_complete(*request.framework, *planned, layout, facts);
        } else {
            require_line(planned.error().message());
        }
    }
}

void require_complete_plans(const Step& step, const NodeFacts& facts) {
    for (const char* spec : {"pytorch", "torchrun", "tensorflow", "pytorch,gpus=isolate"}) {
        const auto request = parse_spec("SPEC", spec);
        require(request.has_value(), "a known SPEC");
        require_complete_plans(*request, step, facts);
    }
}

Step two_nodes_with(std::uint32_t tasks_each) {
    auto layout =
        StepLayout::from_task_map(*HostList::parse("n[1-2]"), {TaskMapBlock{0, 2, tasks_each, 1}});
    return {*std::move(layout)};
}

void require_plans_on(const NodeTopology& topology) {
    require_whole(topology);
    const Step step = two_nodes_with(tasks);
    NodeFacts facts = facts_of(topology);
    const CpuSet all = cpus_of(topology);
    facts.share.masks.assign(tasks, all);
    require_complete_plans(step, facts);
    const std::vector<std::uint32_t> cpus = all.cpus();
    for (std::uint32_t task = 0; task < tasks; ++task) {
        facts.share.masks[task] = CpuSet{cpus[task * cpus.size() / tasks]};
    }
    require_complete_plans(step, facts);
}

bool is_small(const StepLayout& layout) {
    constexpr std::uint32_t most_nodes = 16;
    constexpr std::uint32_t most_tasks = 32;
    return layout.node_count() <= most_nodes && layout.task_count() <= most_tasks;
}

}  // namespace distgpu
