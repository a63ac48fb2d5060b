#include "plan/formats.h"

#include "base/format.h"
#include "base/json.h"
#include "base/shell_words.h"
#include "base/values.h"
#include "mapping/frameworks/framework.h"
#include "mapping/texts/plan_text.h"

#include <array>
#include <string_view>

namespace distgpu {
namespace {

constexpr EnumNames<PortSource> port_sources{{"key", "exported", "reserved", "derived"}};

JsonText step_json(const StepLayout& layout, const StepId& step) {
    std::vector<std::string> nodes;
    for (std::uint32_t node = 0; node < layout.node_count(); ++node) {
        nodes.push_back(layout.hosts().name(NodeIndex{node}));
    }
    const auto name_json = [&](NodeIndex node) { return JsonText(layout.hosts().name(node)); };
    const auto block_json = [](const TaskMapBlock& block) {
        return JsonText::list(
            std::array{block.node, block.nodes, block.tasks_per_node, block.repeat});
    };
    std::vector<JsonMember> members{{"job_id", step.job},
                                    {"step_id", step.step},
                                    {"nodes", JsonText::list(nodes)},
                                    {"task_map", JsonText::list(layout.task_map(), block_json)}};
    if (!layout.order().empty()) {
        members.push_back({"order", JsonText::list(layout.order(), name_json)});
    }
    return members;
}

JsonText task_json(const NodeTopology* topology, const NodePlan& node, const TaskPlan& task) {
    std::vector<JsonMember> set;
    for (const auto& [name, value] : task.set) set.push_back({name, value});
    const auto& binding = task.binding;  // nullopt if the topology is unknown
    std::vector<std::string> ports;      // "mlx5_0:1"
    if (binding && binding->port) ports.push_back(port_name(*topology, *binding->port));
    std::vector<JsonMember> json{
        {"rank", task.rank.value},
        {"node", node.node_name},
        {"node_rank", task.node_rank.value},
        {"local_rank", task.local_rank.value},
        {"set", set},
        {"unset", JsonText::list(task.unset)},
        {"cpus", binding ? JsonText(binding->cpus.to_string()) : JsonText()},
        {"gpus", JsonText::list(binding ? binding->gpus : decltype(binding->gpus)())},
        {"hcas", JsonText::list(ports)}};
    if (!task.options.empty()) json.push_back({"options", JsonText::list(task.options)});
    return json;
}

std::string json_head(const PlanInput& input, const Rendezvous& rendezvous) {
    const JsonText json{{"address", rendezvous.address},
                        {"port", rendezvous.port},
                        {"port_source", port_sources.name_of(rendezvous.port_source)}};
    return formatted(
        "{{\n\"schema\":\"distgpu.plan/1\",\n\"mode\":\"{}\",\n\"step\":{},\n\"rendezvous\":{},\n"
        "\"tasks\":[\n",
        input.request.framework->mode, step_json(input.shape.layout, input.step).line(),
        json.line());
}

}  // namespace

Result<Warnings> for_each_node(const PlanInput& input, const NodeVisitor& visit) {
    const StepLayout& layout = input.shape.layout;
    Step step{layout, input.facts};
    step.rendezvous.step = input.step;
    Warnings warnings = input.warnings;
    const auto node_of_rank =
        input.rank ? std::optional(layout.place(*input.rank).node) : input.node;
    for (std::uint32_t i = 0; i < layout.node_count(); ++i) {
        const NodeIndex node{i};
        if (input.node.value_or(node) != node || node_of_rank.value_or(node) != node) continue;
        const NodeFacts facts = input.shape.facts(node);
        auto planned = plan(input.request, step, facts);
        if (!planned) return planned.error();
        std::erase_if(planned->tasks,
                      [&](const TaskPlan& task) { return input.rank && task.rank != *input.rank; });
        for (const Error& warning : planned->warnings) warnings.insert(warning.message());
        if (auto done = visit(*planned, facts); !done) return done.error();
    }
    return warnings;
}

Result<Done> write_plan_json(const PlanInput& input, const Writer& write) {
    bool first = true;
    return for_each_node(input,
                         [&](const NodePlan& node, const NodeFacts& facts) -> Result<Done> {
                             std::string text = first ? json_head(input, node.rendezvous) : "";
                             for (const TaskPlan& task : node.tasks) {
                                 text += (first ? "" : ",\n") +
                                         task_json(facts.topology, node, task).line();
                                 first = false;
                             }
                             return write(text);
                         })
        .and_then([&](const Warnings& warnings) {
            return write(formatted("\n],\n\"warnings\":{}\n}}\n", JsonText::list(warnings).line()));
        });
}

Result<Done> write_plan_shell(const PlanInput& input, const Writer& write) {
    const NodeVisitor write_node = [&](const NodePlan& node, const NodeFacts& /*facts*/) {
        std::string text;
        for (const TaskPlan& task : node.tasks) {
            for (const std::string& name : task.unset) {
                // A pattern removes the matching variables of the shell that reads the line.
                text +=
                    name.back() == '*'
                        ? formatted("unset $(env | sed -n 's/^\\({}[A-Za-z0-9_]*\\)=.*/\\1/p')\n",
                                    name.substr(0, name.size() - 1))
                        : formatted("unset {}\n", name);
            }
            for (const auto& [name, value] : task.set) {
                text += formatted("export {}={}\n", name, shell_quoted(value));
            }
        }
        return write(text);
    };
    // Standard output holds only lines for the shell.
    return for_each_node(input, write_node).transform([](const Warnings& warnings) {
        for (const std::string& warning : warnings) print_error_line(warning);
        return Done{};
    });
}

namespace {

// Without a job id, a port that is derived from it is unknown.
std::string rendezvous_text(const PlanInput& input, const Rendezvous& rendezvous) {
    const bool known = input.step.job != 0 || rendezvous.port_source != PortSource::derived;
    return formatted(
        "{} (port from {})",
        known ? host_and_port(rendezvous.address, rendezvous.port) : rendezvous.address,
        port_source_text(rendezvous));
}

std::string table_head(const PlanInput& input, const PlanColumns& columns,
                       const Rendezvous& rendezvous, bool colour) {
    const StepLayout& layout = input.shape.layout;
    const Framework& framework = *input.request.framework;
    return formatted(
        "{}: {} on {}, rendezvous {}\n{}{}{}\n", framework.mode,
        counted(layout.task_count(), framework.launcher_per_node ? "launcher" : "rank"),
        counted(layout.node_count(), "node"), rendezvous_text(input, rendezvous), input.order_text,
        input.order_text.empty() ? "" : "\n", styled(colour, "1", plan_title(columns)));
}

std::string variables_text(const Framework& framework, const TaskPlan& task) {
    std::string text = "\n";
    for (const auto& [name, value] : task.set) text += formatted("{}={}\n", name, value);
    if (!task.unset.empty()) text += formatted("\nremoved: {}\n", join(task.unset, " "));
    if (!task.options.empty()) text += formatted("\n{}\n", options_text(framework, task));
    return text;
}

}  // namespace

Result<Done> write_plan_table(const PlanInput& input, bool colour, const Writer& write) {
    const StepLayout& layout = input.shape.layout;
    bool has_binding = false;  // the topology of some node is known
    for (std::uint32_t i = 0; i < layout.node_count(); ++i) {
        has_binding = has_binding || input.shape.topologies.of(NodeIndex{i}) != nullptr;
    }
    const PlanColumns columns = plan_columns(layout, has_binding);
    bool first = true;
    return for_each_node(input,
                         [&](const NodePlan& node, const NodeFacts& facts) {
                             std::string text =
                                 first ? table_head(input, columns, node.rendezvous, colour) : "";
                             first = false;
                             for (const TaskPlan& task : node.tasks) {
                                 text += plan_row(columns, node, facts.topology, task) + "\n";
                                 if (input.rank)
                                     text += variables_text(*input.request.framework, task);
                             }
                             return write(text);
                         })
        .and_then([&](const Warnings& warnings) -> Result<Done> {
            if (!input.network.empty()) {
                auto written = write(formatted("NCCL between nodes: {}\n", input.network));
                if (!written) return written;
            }
            for (const std::string& line : warnings) {
                if (auto written = write(styled(colour, "33", line) + "\n"); !written) {
                    return written;
                }
            }
            return Done{};
        });
}

}  // namespace distgpu
