#include "mapping/texts/announcement.h"

#include "base/format.h"
#include "base/values.h"
#include "mapping/binding/binding_policy.h"
#include "mapping/frameworks/framework.h"
#include "mapping/plan/plan_rows.h"
#include "mapping/rendezvous/rendezvous.h"

namespace distgpu {
namespace {

std::string step_text(const Request& request, const StepLayout& layout) {
    const bool launchers = request.framework->launcher_per_node;
    return formatted("distgpu: {}: {} on {} ({})", request.framework->mode,
                     launchers ? counted(layout.task_count(), "launcher")
                               : formatted("world size {}", layout.task_count()),
                     counted(layout.node_count(), "node"), layout.hosts().to_string());
}

std::string rendezvous_text(const StepLayout& layout, const NodePlan& plan) {
    return formatted("rendezvous {} on {}, port from {}",
                     host_and_port(plan.rendezvous.address, plan.rendezvous.port),
                     layout.hosts().name(rank0_node(layout)), source_of_port(plan.rendezvous));
}

// Of the table that `verbose` prints.
PlanColumns columns_of(const Request& request, const StepLayout& layout) {
    return plan_columns(layout, needs_topology(request));
}

bool has_rank_rows(const StepLayout& layout) {
    return layout.task_count() <= most_rank_rows;
}

std::string title_line(const Request& request, const StepLayout& layout) {
    const PlanColumns columns = columns_of(request, layout);
    return "distgpu: " + (has_rank_rows(layout) ? plan_title(columns) : node_title(columns));
}

// A node's part of the table.
std::string node_rows(const Request& request, const StepLayout& layout, const NodeFacts& node,
                      const NodePlan& plan) {
    const PlanColumns columns = columns_of(request, layout);
    if (!has_rank_rows(layout)) return "distgpu: " + node_row(columns, plan);
    std::vector<std::string> rows;
    for (const TaskPlan& task : plan.tasks) {
        rows.push_back("distgpu: " + plan_row(columns, plan, node.topology, task));
    }
    return join(rows, "\n");
}

std::string whole_step_line(const Request& request, const StepLayout& layout,
                            const NodePlan& plan) {
    return formatted("{}, {}", step_text(request, layout), rendezvous_text(layout, plan));
}

// The rows of rank 0's node, with what it alone knows of the step.
std::string rank0_table(const Request& request, const StepLayout& layout, const NodePlan& plan,
                        const std::string& rows, bool told_by_srun) {
    if (told_by_srun) return formatted("{}\ndistgpu: {}", rows, rendezvous_text(layout, plan));
    return formatted("{}\n{}\n{}", whole_step_line(request, layout, plan),
                     title_line(request, layout), rows);
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

std::string dry_run_text(const Framework& framework, const NodeFacts& node, const NodePlan& plan,
                         const TaskPlan& task) {
    std::string text = task_line(node, plan, task) + '\n';
    for (const auto& [name, value] : task.set) text += formatted("  {}={}\n", name, value);
    for (const std::string& name : task.unset) text += formatted("  unset {}\n", name);
    if (!task.options.empty()) text += formatted("  {}\n", options_text(framework, task));
    return text;
}

}  // namespace

std::vector<std::string> step_lines(const Request& request, const StepLayout& layout) {
    return {step_text(request, layout), title_line(request, layout)};
}

Announcement announcement(const Request& request, const StepLayout& layout, const NodeFacts& node,
                          const NodePlan& plan, LocalRank local, bool told_by_srun,
                          bool first_of_component) {
    const TaskPlan& task = plan.tasks[local.value];
    const bool first = task.rank == GlobalRank{0};
    Announcement result;
    if (first && request.dry_run) result.lines.push_back(whole_step_line(request, layout, plan));
    if (first || first_of_component) {
        for (Error warning : plan.warnings) {
            if (!first) warning.object += formatted(" on {}", plan.node_name);
            result.lines.push_back(warning.message());
        }
    }
    if (first && (request.verbose || request.dry_run) && node.topology != nullptr &&
        !node.confined) {
        result.lines.push_back(
            formatted("distgpu: {}: Slurm does not confine the tasks to the step's CPUs, so "
                      "distgpu leaves the CPUs as they are; see TaskPlugin and ConstrainCores",
                      plan.node_name));
    }
    if (request.dry_run) {
        result.dry_run = dry_run_text(*request.framework, node, plan, task);
    } else if (request.verbose && local == LocalRank{0}) {
        result.table = node_rows(request, layout, node, plan);
        if (first) result.table = rank0_table(request, layout, plan, result.table, told_by_srun);
    }
    return result;
}

}  // namespace distgpu
