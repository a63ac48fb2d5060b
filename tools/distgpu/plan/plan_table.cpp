// The plan of a step for people: where each rank is, and what one of them gets.
#include "base/format.h"
#include "base/values.h"
#include "plan/plan_formats.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace distgpu {
namespace {

struct Columns {
    std::size_t rank;
    std::size_t node;
    bool binding;  // of some node the topology is known
};

constexpr std::size_t local_width = 5;
constexpr std::size_t gpu_width = 8;
constexpr std::size_t port_width = 14;

Columns columns_of(const PlanInput& input) {
    const StepLayout& layout = input.shape.layout();
    Columns columns{std::max<std::size_t>(4, std::to_string(layout.task_count() - 1).size()), 4,
                    false};
    for (std::uint32_t i = 0; i < layout.node_count(); ++i) {
        columns.node = std::max(columns.node, layout.hosts().name(NodeIndex{i}).size());
        columns.binding = columns.binding || input.shape.has_topology(NodeIndex{i});
    }
    return columns;
}

std::string styled(bool colour, std::string_view style, std::string_view text) {
    return colour ? formatted("\x1b[{}m{}\x1b[0m", style, text) : std::string(text);
}

// A laptop has no job: the port that its id would give is not the one that a step will have.
std::string where(const PlanInput& input, const Rendezvous& rendezvous) {
    const bool known = input.step.job != 0 || rendezvous.port_source != PortSource::derived;
    return formatted(
        "{} (port from {})",
        known ? host_and_port(rendezvous.address, rendezvous.port) : rendezvous.address,
        source_of_port(rendezvous));
}

std::string head(const PlanInput& input, const Columns& columns, const Rendezvous& rendezvous,
                 bool colour) {
    const StepLayout& layout = input.shape.layout();
    const Framework& framework = *input.request.framework;
    std::string title = formatted("{:>{}}  {:<{}}  {:>{}}", "rank", columns.rank, "node",
                                  columns.node, "local", local_width);
    if (columns.binding) {
        title += formatted("  {:<{}}  {:<{}}  CPUs", "GPUs", gpu_width, "HCA", port_width);
    }
    return formatted(
        "{}: {} on {}, rendezvous {}\n{}\n", framework.mode,
        counted(layout.task_count(), framework.launcher_per_node ? "launcher" : "rank"),
        counted(layout.node_count(), "node"), where(input, rendezvous), styled(colour, "1", title));
}

std::string binding_cells(const NodeTopology& topology, const TaskBinding& binding) {
    std::string port = "-";
    if (binding.port) {
        const Hca& hca = topology.hcas[binding.port->hca];
        port = formatted("{}:{} {}", hca.name, hca.ports[binding.port->port].number,
                         word(binding.port_distance));
    }
    return formatted("  {:<{}}  {:<{}}  {}", binding.gpus.empty() ? "-" : join(binding.gpus, ","),
                     gpu_width, port, port_width, binding.cpus.to_string());
}

std::string task_line(const Columns& columns, const NodePlan& node, const NodeFacts& facts,
                      const TaskPlan& task) {
    std::string line = formatted("{:>{}}  {:<{}}  {:>{}}", task.rank.value, columns.rank,
                                 node.node_name, columns.node, task.local_rank.value, local_width);
    if (task.binding) line += binding_cells(*facts.topology, *task.binding);
    return line + "\n";
}

std::string variables_of(const TaskPlan& task) {
    std::string text = "\n";
    for (const auto& [name, value] : task.set) text += formatted("{}={}\n", name, value);
    if (!task.unset.empty()) text += formatted("\nremoved: {}\n", join(task.unset, " "));
    return text;
}

}  // namespace

Result<Done> write_plan_table(const PlanInput& input, bool colour, const Writer& write) {
    const Columns columns = columns_of(input);
    bool first = true;
    return for_each_node(input,
                         [&](const NodePlan& node, const NodeFacts& facts) {
                             std::string text =
                                 first ? head(input, columns, node.rendezvous, colour) : "";
                             first = false;
                             for (const TaskPlan& task : node.tasks) {
                                 text += task_line(columns, node, facts, task);
                                 if (input.rank) text += variables_of(task);
                             }
                             return write(text);
                         })
        .and_then([&](const Warnings& warnings) -> Result<Done> {
            for (const std::string& line : warnings) {
                if (auto written = write(styled(colour, "33", line) + "\n"); !written) {
                    return written;
                }
            }
            return Done{};
        });
}

}  // namespace distgpu
