#include "mapping/texts/plan_text.h"

#include "base/format.h"
#include "base/values.h"

#include <set>

namespace distgpu {
namespace {

std::string cells(const PlanColumns& columns, std::string_view rank, std::string_view node,
                  std::string_view local) {
    return formatted("{:>{}}  {:<{}}  {:>5}", rank, columns.rank, node, columns.node, local);
}

std::string binding_cells(std::string_view gpus, std::string_view port, std::string_view cpus) {
    return formatted("  {:<8}  {:<14}  {}", gpus, port, cpus);
}

std::string binding_title(const PlanColumns& columns) {
    return columns.has_binding ? binding_cells("GPUs", "HCA", "CPUs") : "";
}

}  // namespace

PlanColumns plan_columns(const StepLayout& layout, bool has_binding) {
    PlanColumns columns{std::max<std::size_t>(4, std::to_string(layout.task_count() - 1).size()), 4,
                        has_binding};
    for (std::uint32_t i = 0; i < layout.node_count(); ++i) {
        columns.node = std::max(columns.node, layout.hosts().name(NodeIndex{i}).size());
    }
    return columns;
}

std::string plan_title(const PlanColumns& columns) {
    return cells(columns, "rank", "node", "local") + binding_title(columns);
}

std::string plan_row(const PlanColumns& columns, const NodePlan& node, const NodeTopology* topology,
                     const TaskPlan& task) {
    std::string row = cells(columns, std::to_string(task.rank.value), node.node_name,
                            std::to_string(task.local_rank.value));
    if (!columns.has_binding || !task.binding || topology == nullptr) return row;
    const TaskBinding& binding = *task.binding;
    return row + binding_cells(binding.gpus.empty() ? "-" : join(binding.gpus, ","),
                               binding.port
                                   ? formatted("{} {}", port_name(*topology, *binding.port),
                                               distance_name(binding.port_distance))
                                   : "-",
                               binding.cpus.to_string());
}

std::string options_text(const Framework& framework, const TaskPlan& task) {
    if (task.options.empty()) return {};
    const std::string options = join(task.options, " ");
    const auto companion = framework.service->companion;
    if (companion.empty()) return formatted("distgpu exec adds: {}", options);
    return formatted("distgpu exec starts: {} {}", join(companion, " "), options);
}

namespace {

std::string step_text(const Request& request, const StepLayout& layout) {
    const bool has_launchers = request.framework->launcher_per_node;
    return formatted("distgpu: {}: {} on {} ({})", request.framework->mode,
                     has_launchers ? counted(layout.task_count(), "launcher")
                                   : formatted("world size {}", layout.task_count()),
                     counted(layout.node_count(), "node"), layout.hosts().to_string());
}

std::string rendezvous_text(const StepLayout& layout, const NodePlan& plan) {
    return formatted("rendezvous {} on {}, port from {}",
                     host_and_port(plan.rendezvous.address, plan.rendezvous.port),
                     layout.hosts().name(rank0_node(layout)), port_source_text(plan.rendezvous));
}

// Whether the table has a row for each rank. Larger steps have a row for each node.
bool has_rank_rows(const StepLayout& layout) {
    constexpr std::uint32_t max_rows = 64;
    return layout.task_count() <= max_rows;
}

// Widens the column of a rank for a range of ranks.
PlanColumns for_rank_ranges(PlanColumns columns) {
    columns.rank = 2 * columns.rank + 3;
    return columns;
}

std::string title_line(const Request& request, const StepLayout& layout) {
    const PlanColumns columns = plan_columns(layout, needs_topology(request));
    if (has_rank_rows(layout)) return "distgpu: " + plan_title(columns);
    return "distgpu: " + cells(for_rank_ranges(columns), "ranks", "node", "tasks") +
           binding_title(columns);
}

std::string node_row(const PlanColumns& columns, const NodePlan& node) {
    // "0-7", or "0...14" if other nodes have some of these ranks.
    const std::uint32_t first = node.tasks.front().rank.value;
    const std::uint32_t last = node.tasks.back().rank.value;
    const bool has_all = last - first == node.tasks.size() - 1;
    std::string row = cells(for_rank_ranges(columns),
                            first == last ? std::to_string(first)
                                          : formatted("{}{}{}", first, has_all ? "-" : "...", last),
                            node.node_name, std::to_string(node.tasks.size()));
    if (!columns.has_binding || !node.tasks.front().binding) return row;
    std::set<std::uint32_t> gpus;
    std::set<PortRef> ports;
    CpuSet cpus;
    for (const TaskPlan& task : node.tasks) {
        gpus.insert(task.binding->gpus.begin(), task.binding->gpus.end());
        if (task.binding->port) ports.insert(*task.binding->port);
        cpus |= task.binding->cpus;
    }
    return row + binding_cells(gpus.empty() ? "-" : std::to_string(gpus.size()),
                               ports.empty() ? "-" : counted(ports.size(), "port"),
                               cpus.to_string());
}

// The rows of one node.
std::string node_rows(const Request& request, const StepLayout& layout, const NodeFacts& node,
                      const NodePlan& plan) {
    const PlanColumns columns = plan_columns(layout, needs_topology(request));
    if (!has_rank_rows(layout)) return "distgpu: " + node_row(columns, plan);
    std::vector<std::string> rows;
    for (const TaskPlan& task : plan.tasks) {
        rows.push_back("distgpu: " + plan_row(columns, plan, node.topology, task));
    }
    return join(rows, "\n");
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

std::string task_line(const NodeFacts& node, const NodePlan& plan, const TaskPlan& task) {
    std::string line =
        formatted("distgpu: rank {} on {}, local rank {} of {}, node rank {}", task.rank.value,
                  plan.node_name, task.local_rank.value, plan.tasks.size(), task.node_rank.value);
    if (!task.binding) return line;
    const TaskBinding& binding = *task.binding;
    line +=
        formatted(": CPUs {}{}", binding.cpus.to_string(), gpu_text(*node.topology, binding.gpus));
    if (!binding.port) return line;
    return formatted("{}, {} ({})", line, port_name(*node.topology, *binding.port),
                     distance_name(binding.port_distance));
}

}  // namespace

std::vector<std::string> step_lines(const Request& request, const StepLayout& layout) {
    return {step_text(request, layout), title_line(request, layout)};
}

StartupOutput startup_output(const Request& request, const StepLayout& layout,
                             const NodeFacts& node, const NodePlan& plan, LocalRank local,
                             bool printed_by_srun, bool first_of_component) {
    const TaskPlan& task = plan.tasks[local.value];
    const bool is_rank0 = task.rank == GlobalRank{0};
    const auto whole_step = [&] {
        return formatted("{}, {}", step_text(request, layout), rendezvous_text(layout, plan));
    };
    StartupOutput result;
    if (is_rank0 && request.dry_run) result.lines.push_back(whole_step());
    if (is_rank0 || first_of_component) {
        for (Error warning : plan.warnings) {
            if (!is_rank0) warning.object += formatted(" on {}", plan.node_name);
            result.lines.push_back(warning.message());
        }
    }
    if (is_rank0 && (request.verbose || request.dry_run) && node.topology != nullptr &&
        !node.is_confined) {
        result.lines.push_back(
            formatted("distgpu: {}: Slurm does not confine the tasks to the step's CPUs, so "
                      "distgpu leaves the CPUs as they are; see TaskPlugin and ConstrainCores",
                      plan.node_name));
    }
    if (request.dry_run) {
        result.dry_run = task_line(node, plan, task) + '\n';
        for (const auto& [name, value] : task.set) {
            result.dry_run += formatted("  {}={}\n", name, value);
        }
        for (const std::string& name : task.unset) {
            result.dry_run += formatted("  unset {}\n", name);
        }
        if (task.options.empty()) return result;
        result.dry_run += formatted("  {}\n", options_text(*request.framework, task));
    } else if (request.verbose && local == LocalRank{0}) {
        result.table = node_rows(request, layout, node, plan);
        // Only the node of rank 0 knows the rendezvous.
        if (is_rank0 && printed_by_srun) {
            result.table += "\ndistgpu: " + rendezvous_text(layout, plan);
        } else if (is_rank0) {
            result.table =
                formatted("{}\n{}\n{}", whole_step(), title_line(request, layout), result.table);
        }
    }
    return result;
}

}  // namespace distgpu
