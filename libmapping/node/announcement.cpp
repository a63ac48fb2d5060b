// See announcement.h.
#include "node/announcement.h"

#include "base/format.h"
#include "base/values.h"
#include "mapping/rendezvous/rendezvous.h"

namespace distgpu {
namespace {

std::string step_line(const Request& request, const StepLayout& layout, const NodePlan& plan) {
    const std::string size = request.framework->launcher_per_node
                                 ? formatted("{} launchers", layout.task_count())
                                 : formatted("world size {}", layout.task_count());
    return formatted(
        "distgpu: {}: {} on {} ({}), rendezvous {} on {}, port from {}", request.framework->mode,
        size, layout.node_count() == 1 ? "1 node" : formatted("{} nodes", layout.node_count()),
        layout.hosts().to_string(), host_and_port(plan.rendezvous.address, plan.rendezvous.port),
        layout.hosts().name(rank0_node(layout)), source_of_port(plan.rendezvous));
}

std::string gpu_text(const NodeTopology& topology, const std::vector<std::uint32_t>& gpus) {
    if (gpus.empty()) return {};
    std::string text = gpus.size() == 1 ? ", GPU" : ", GPUs";
    for (const std::uint32_t index : gpus) {
        const Gpu& gpu = topology.gpus[index];
        text += formatted("{} {} ({}{}{})", index == gpus.front() ? "" : ",", index, gpu.model,
                          gpu.model.empty() ? "" : ", ", gpu.pci);
    }
    return text;
}

std::string port_text(const NodeTopology& topology, const TaskBinding& binding) {
    if (!binding.port) return {};
    const Hca& hca = topology.hcas[binding.port->hca];
    return formatted(", {}:{} ({})", hca.name, hca.ports[binding.port->port].number,
                     word(binding.port_distance));
}

std::string task_line(const NodeFacts& node, const NodePlan& plan, const TaskPlan& task) {
    std::string line =
        formatted("distgpu: rank {} on {}, local rank {} of {}, node rank {}", task.rank.value,
                  plan.node_name, task.local_rank.value, plan.tasks.size(), task.node_rank.value);
    if (!task.binding) return line;
    return formatted("{}: CPUs {}{}{}", line, task.binding->cpus.to_string(),
                     gpu_text(*node.topology, task.binding->gpus),
                     port_text(*node.topology, *task.binding));
}

std::string dry_run_text(const NodeFacts& node, const NodePlan& plan, const TaskPlan& task) {
    std::string text = task_line(node, plan, task) + '\n';
    for (const auto& [name, value] : task.set) text += formatted("  {}={}\n", name, value);
    for (const std::string& name : task.unset) text += formatted("  unset {}\n", name);
    return text;
}

}  // namespace

Announcement announcement(const Request& request, const StepLayout& layout, const NodeFacts& node,
                          const NodePlan& plan, LocalRank local) {
    const TaskPlan& task = plan.tasks[local.value];
    const bool first = task.task == TaskId{0};
    const bool speaks = request.verbose || request.dry_run;
    Announcement result;
    if (first && speaks) result.lines.push_back(step_line(request, layout, plan));
    if (first) {
        for (const Error& warning : plan.warnings) result.lines.push_back(warning.message());
    }
    if (first && speaks && node.topology != nullptr && !node.confined) {
        result.lines.push_back(
            formatted("distgpu: {}: Slurm does not confine the tasks to the step's CPUs, so "
                      "distgpu leaves the CPUs as they are; see TaskPlugin and ConstrainCores",
                      plan.node_name));
    }
    if (request.dry_run) {
        result.dry_run = dry_run_text(node, plan, task);
    } else if (request.verbose) {
        result.lines.push_back(task_line(node, plan, task));
    }
    return result;
}

}  // namespace distgpu
