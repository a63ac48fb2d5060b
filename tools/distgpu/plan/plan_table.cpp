// The plan of a step for people: where each rank is, and what one of them gets.
#include "base/format.h"
#include "base/values.h"
#include "mapping/frameworks/framework.h"
#include "mapping/plan/plan_rows.h"
#include "plan/plan_formats.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace distgpu {
namespace {

PlanColumns columns_of(const PlanInput& input) {
    const StepLayout& layout = input.shape.layout();
    bool binding = false;  // of some node the topology is known
    for (std::uint32_t i = 0; i < layout.node_count(); ++i) {
        binding = binding || input.shape.has_topology(NodeIndex{i});
    }
    return plan_columns(layout, binding);
}

// A laptop has no job: the port that its id would give is not the one that a step will have.
std::string where(const PlanInput& input, const Rendezvous& rendezvous) {
    const bool known = input.step.job != 0 || rendezvous.port_source != PortSource::derived;
    return formatted(
        "{} (port from {})",
        known ? host_and_port(rendezvous.address, rendezvous.port) : rendezvous.address,
        source_of_port(rendezvous));
}

std::string head(const PlanInput& input, const PlanColumns& columns, const Rendezvous& rendezvous,
                 bool colour) {
    const StepLayout& layout = input.shape.layout();
    const Framework& framework = *input.request.framework;
    return formatted(
        "{}: {} on {}, rendezvous {}\n{}{}{}\n", framework.mode,
        counted(layout.task_count(), framework.launcher_per_node ? "launcher" : "rank"),
        counted(layout.node_count(), "node"), where(input, rendezvous), input.order,
        input.order.empty() ? "" : "\n", styled(colour, "1", plan_title(columns)));
}

std::string variables_of(const Framework& framework, const TaskPlan& task) {
    std::string text = "\n";
    for (const auto& [name, value] : task.set) text += formatted("{}={}\n", name, value);
    if (!task.unset.empty()) text += formatted("\nremoved: {}\n", join(task.unset, " "));
    if (!task.options.empty()) text += formatted("\n{}\n", options_text(framework, task));
    return text;
}

}  // namespace

Result<Done> write_plan_table(const PlanInput& input, bool colour, const Writer& write) {
    const PlanColumns columns = columns_of(input);
    bool first = true;
    return for_each_node(input,
                         [&](const NodePlan& node, const NodeFacts& facts) {
                             std::string text =
                                 first ? head(input, columns, node.rendezvous, colour) : "";
                             first = false;
                             for (const TaskPlan& task : node.tasks) {
                                 text += plan_row(columns, node, facts.topology, task) + "\n";
                                 if (input.rank)
                                     text += variables_of(*input.request.framework, task);
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
