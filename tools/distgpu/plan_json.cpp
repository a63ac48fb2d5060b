// See plan_json.h.
#include "plan_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

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
    task["hcas"] = {fmt::format("{}:{}", hca.name, hca.ports[binding.port->port].number)};
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

std::string to_text(const Request& request, const Shape& shape, const StepId& step,
                    const std::vector<NodePlan>& nodes) {
    std::map<std::uint32_t, std::string> tasks;
    std::vector<std::string> warnings;
    for (const NodePlan& node : nodes) {
        for (const TaskPlan& task : node.tasks) {
            tasks[task.rank.value] = task_json(shape.node.topology, node, task).dump();
        }
        for (const std::string& line : node.warnings) {
            if (std::find(warnings.begin(), warnings.end(), line) == warnings.end()) {
                warnings.push_back(line);
            }
        }
    }
    const Rendezvous& meeting_point = nodes.front().rendezvous;
    const Json rendezvous{{"address", meeting_point.address},
                          {"port", meeting_point.port},
                          {"port_source", word(meeting_point.port_source)}};
    std::string text = fmt::format(
        "{{\n\"schema\":\"distgpu.plan/1\",\n\"mode\":\"{}\",\n\"step\":{},\n\"rendezvous\":{},\n"
        "\"tasks\":[\n",
        request.framework->mode, step_json(shape.layout, step).dump(), rendezvous.dump());
    for (const auto& [rank, line] : tasks) {
        text += line + (rank == tasks.rbegin()->first ? "\n" : ",\n");
    }
    return text + fmt::format("],\n\"warnings\":{}\n}}\n", Json(warnings).dump());
}

}  // namespace

Result<std::string> plan_json(const Request& request, const Shape& shape, const StepId& step) {
    RendezvousFacts facts;
    facts.step = step;
    std::vector<NodePlan> nodes;
    for (std::uint32_t i = 0; i < shape.layout.node_count(); ++i) {
        const NodeIndex node{i};
        auto planned = plan(request, shape.layout, facts, {}, shape.facts(node), node);
        if (!planned) return planned.error();
        nodes.push_back(*std::move(planned));
    }
    return to_text(request, shape, step, nodes);
}

}  // namespace distgpu
