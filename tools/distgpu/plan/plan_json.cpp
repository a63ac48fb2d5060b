// The plan of a step as JSON, in the form distgpu.plan/1.
#include "base/format.h"
#include "base/json_text.h"
#include "mapping/frameworks/framework.h"
#include "plan/plan_formats.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {
namespace {

std::string_view word(PortSource source) {
    switch (source) {
        case PortSource::key:
            return "key";
        case PortSource::exported:
            return "exported";
        case PortSource::reserved:
            return "reserved";
        case PortSource::derived:
            break;
    }
    return "derived";
}

JsonText step_json(const StepLayout& layout, const StepId& step) {
    std::vector<std::string> nodes;
    for (std::uint32_t node = 0; node < layout.node_count(); ++node) {
        nodes.push_back(layout.hosts().name(NodeIndex{node}));
    }
    std::vector<std::string> order;
    for (const NodeIndex node : layout.order()) order.push_back(layout.hosts().name(node));
    const auto block_json = [](const TaskMapBlock& block) {
        return JsonText::list(
            std::array{block.node, block.nodes, block.tasks_per_node, block.repeat});
    };
    std::vector<JsonMember> members{{"job_id", step.job},
                                    {"step_id", step.step},
                                    {"nodes", JsonText::list(nodes)},
                                    {"task_map", JsonText::list(layout.task_map(), block_json)}};
    if (!order.empty()) members.push_back({"order", JsonText::list(order)});
    return members;
}

// "mlx5_0:1" of each port that the task gets.
std::vector<std::string> port_names(const NodeTopology& topology, const TaskBinding& binding) {
    if (!binding.port) return {};
    const Hca& hca = topology.hcas[binding.port->hca];
    return {formatted("{}:{}", hca.name, hca.ports[binding.port->port].number)};
}

JsonText task_json(const NodeTopology* topology, const NodePlan& node, const TaskPlan& task) {
    std::vector<JsonMember> set;
    for (const auto& [name, value] : task.set) set.push_back({name, value});
    const auto& binding = task.binding;  // there where the topology is known
    std::vector<JsonMember> json{
        {"rank", task.rank.value},
        {"node", node.node_name},
        {"node_rank", task.node_rank.value},
        {"local_rank", task.local_rank.value},
        {"set", set},
        {"unset", JsonText::list(task.unset)},
        {"cpus", binding ? JsonText(binding->cpus.to_string()) : JsonText()},
        {"gpus", JsonText::list(binding ? binding->gpus : decltype(binding->gpus)())},
        {"hcas",
         JsonText::list(binding ? port_names(*topology, *binding) : std::vector<std::string>())}};
    if (!task.options.empty()) json.push_back({"options", JsonText::list(task.options)});
    return json;
}

std::string head(const PlanInput& input, const Rendezvous& rendezvous) {
    const JsonText json{{"address", rendezvous.address},
                        {"port", rendezvous.port},
                        {"port_source", word(rendezvous.port_source)}};
    return formatted(
        "{{\n\"schema\":\"distgpu.plan/1\",\n\"mode\":\"{}\",\n\"step\":{},\n\"rendezvous\":{},\n"
        "\"tasks\":[\n",
        input.request.framework->mode, step_json(input.shape.layout(), input.step).line(),
        json.line());
}

}  // namespace

Result<Done> write_plan_json(const PlanInput& input, const Writer& write) {
    bool first = true;
    return for_each_node(input,
                         [&](const NodePlan& node, const NodeFacts& facts) -> Result<Done> {
                             std::string text = first ? head(input, node.rendezvous) : "";
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

}  // namespace distgpu
