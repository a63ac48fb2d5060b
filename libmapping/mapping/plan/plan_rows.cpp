#include "mapping/plan/plan_rows.h"

#include "base/format.h"
#include "mapping/frameworks/framework.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace distgpu {
namespace {

constexpr std::size_t local_width = 5;
constexpr std::size_t gpu_width = 8;
constexpr std::size_t port_width = 14;

std::string cells(const PlanColumns& columns, std::string_view rank, std::string_view node,
                  std::string_view local) {
    return formatted("{:>{}}  {:<{}}  {:>{}}", rank, columns.rank, node, columns.node, local,
                     local_width);
}

std::string binding_cells(std::string_view gpus, std::string_view port, std::string_view cpus) {
    return formatted("  {:<{}}  {:<{}}  {}", gpus, gpu_width, port, port_width, cpus);
}

std::string port_text(const NodeTopology& topology, const TaskBinding& binding) {
    if (!binding.port) return "-";
    const Hca& hca = topology.hcas[binding.port->hca];
    return formatted("{}:{} {}", hca.name, hca.ports[binding.port->port].number,
                     word(binding.port_distance));
}

// "0-7", or "0...14" where other nodes have some of them.
std::string ranks_text(const std::vector<TaskPlan>& tasks) {
    const std::uint32_t first = tasks.front().rank.value;
    const std::uint32_t last = tasks.back().rank.value;
    if (tasks.size() == 1) return std::to_string(first);
    return formatted("{}{}{}", first, last - first == tasks.size() - 1 ? "-" : "...", last);
}

// For two ranks in the place of one.
PlanColumns wide(PlanColumns columns) {
    columns.rank = 2 * columns.rank + 3;
    return columns;
}

}  // namespace

PlanColumns plan_columns(const StepLayout& layout, bool binding) {
    PlanColumns columns{std::max<std::size_t>(4, std::to_string(layout.task_count() - 1).size()), 4,
                        binding};
    for (std::uint32_t i = 0; i < layout.node_count(); ++i) {
        columns.node = std::max(columns.node, layout.hosts().name(NodeIndex{i}).size());
    }
    return columns;
}

std::string plan_title(const PlanColumns& columns) {
    return cells(columns, "rank", "node", "local") +
           (columns.binding ? binding_cells("GPUs", "HCA", "CPUs") : "");
}

std::string plan_row(const PlanColumns& columns, const NodePlan& node, const NodeTopology* topology,
                     const TaskPlan& task) {
    std::string row = cells(columns, std::to_string(task.rank.value), node.node_name,
                            std::to_string(task.local_rank.value));
    if (!columns.binding || !task.binding || topology == nullptr) return row;
    const TaskBinding& binding = *task.binding;
    return row + binding_cells(binding.gpus.empty() ? "-" : join(binding.gpus, ","),
                               port_text(*topology, binding), binding.cpus.to_string());
}

std::string node_title(const PlanColumns& columns) {
    return cells(wide(columns), "ranks", "node", "tasks") +
           (columns.binding ? binding_cells("GPUs", "HCA", "CPUs") : "");
}

std::string node_row(const PlanColumns& columns, const NodePlan& node) {
    std::string row = cells(wide(columns), ranks_text(node.tasks), node.node_name,
                            std::to_string(node.tasks.size()));
    if (!columns.binding || !node.tasks.front().binding) return row;
    std::set<std::uint32_t> gpus;
    std::set<std::pair<std::size_t, std::size_t>> ports;
    CpuSet cpus;
    for (const TaskPlan& task : node.tasks) {
        gpus.insert(task.binding->gpus.begin(), task.binding->gpus.end());
        if (task.binding->port) ports.insert({task.binding->port->hca, task.binding->port->port});
        cpus |= task.binding->cpus;
    }
    return row + binding_cells(gpus.empty() ? "-" : std::to_string(gpus.size()),
                               ports.empty() ? "-" : counted(ports.size(), "port"),
                               cpus.to_string());
}

std::string options_text(const Framework& framework, const TaskPlan& task) {
    if (task.options.empty()) return {};
    const std::string options = join(task.options, " ");
    const auto companion = framework.service->companion;
    if (companion.empty()) return formatted("distgpu exec adds: {}", options);
    return formatted("distgpu exec starts: {} {}", join(companion, " "), options);
}

}  // namespace distgpu
