// See plan_json.h.
#include "plan/plan_json.h"

#include "base/format.h"

#include <nlohmann/json.hpp>

#include <set>
#include <string>
#include <string_view>

namespace distgpu {
namespace {

using Json = nlohmann::ordered_json;

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

Json step_json(const StepLayout& layout, const StepId& step) {
    Json nodes = Json::array();
    for (std::uint32_t node = 0; node < layout.node_count(); ++node) {
        nodes.push_back(layout.hosts().name(NodeIndex{node}));
    }
    Json map = Json::array();
    for (const TaskMapBlock& block : layout.task_map()) {
        map.push_back({block.node, block.nodes, block.tasks_per_node, block.repeat});
    }
    return {{"job_id", step.job}, {"step_id", step.step}, {"nodes", nodes}, {"task_map", map}};
}

// Where the topology is known: the CPUs on which the task runs, its GPUs and its port.
void add_binding(const NodeTopology& topology, const TaskBinding& binding, Json& task) {
    task["cpus"] = binding.cpus.to_string();
    task["gpus"] = binding.gpus;
    if (!binding.port) return;
    const Hca& hca = topology.hcas[binding.port->hca];
    task["hcas"] = {formatted("{}:{}", hca.name, hca.ports[binding.port->port].number)};
}

Json task_json(const NodeTopology* topology, const NodePlan& node, const TaskPlan& task) {
    Json set = Json::object();
    for (const auto& [name, value] : task.set) set[name] = value;
    Json json{{"rank", task.rank.value},
              {"node", node.node_name},
              {"node_rank", task.node_rank.value},
              {"local_rank", task.local_id.value},
              {"set", set},
              {"unset", task.unset},
              {"cpus", nullptr},
              {"gpus", Json::array()},
              {"hcas", Json::array()}};
    if (task.binding) add_binding(*topology, *task.binding, json);
    return json;
}

std::string head(const PlanInput& input, const Rendezvous& meeting_point) {
    const Json rendezvous{{"address", meeting_point.address},
                          {"port", meeting_point.port},
                          {"port_source", word(meeting_point.port_source)}};
    return formatted(
        "{{\n\"schema\":\"distgpu.plan/1\",\n\"mode\":\"{}\",\n\"step\":{},\n\"rendezvous\":{},\n"
        "\"tasks\":[\n",
        input.request.framework->mode, step_json(input.shape.layout(), input.step).dump(),
        rendezvous.dump());
}

}  // namespace

Result<Done> write_plan_json(const PlanInput& input, const Writer& write) {
    bool first = true;
    std::set<std::string> warnings;
    return for_each_node(input,
                         [&](const NodePlan& node, const NodeFacts& facts) -> Result<Done> {
                             std::string text = first ? head(input, node.rendezvous) : "";
                             for (const TaskPlan& task : node.tasks) {
                                 text += (first ? "" : ",\n") +
                                         task_json(facts.topology, node, task).dump();
                                 first = false;
                             }
                             warnings.insert(node.warnings.begin(), node.warnings.end());
                             return write(text);
                         })
        .and_then([&](Done /*done*/) {
            return write(formatted("\n],\n\"warnings\":{}\n}}\n", Json(warnings).dump()));
        });
}

}  // namespace distgpu
