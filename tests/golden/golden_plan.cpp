// See golden_plan.h.
#include "golden_plan.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace distgpu::golden {
namespace {

using Json = nlohmann::ordered_json;
using Words = std::map<std::string, std::string, std::less<>>;

constexpr StepId step_id{4242, 0, 0};

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(separator, at), text.size());
        parts.emplace_back(text.substr(at, end - at));
        at = end + 1;
    }
    return parts;
}

Error refuse(std::string object, std::string problem) {
    return {std::move(object), std::move(problem), "see golden_plan.h"};
}

std::optional<std::uint32_t> number(std::string_view text) {
    std::uint32_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    return error == std::errc{} && stop == end ? std::optional(value) : std::nullopt;
}

Result<Words> read_options(std::string_view shape) {
    Words options;
    const auto words = split(shape, ' ');
    for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
        if (!options.emplace(words[i], words[i + 1]).second) {
            return refuse(words[i], "given twice");
        }
    }
    if (words.size() % 2 != 0) return refuse(words.back(), "an option without a value");
    for (const auto& [name, value] : options) {
        if (name != "--nodelist" && name != "--tasks-per-node" && name != "--distribution" &&
            name != "--gpus-per-node" && name != "--cpus-per-task") {
            return refuse(name, "unknown option");
        }
    }
    return options;
}

Result<StepLayout> arbitrary(HostList hosts, std::string_view nodes) {
    std::vector<std::uint32_t> node_of_task;
    for (const std::string& name : split(nodes, ',')) {
        const auto node = hosts.find(name);
        if (!node) return refuse(name, "not in --nodelist");
        node_of_task.push_back(node->value);
    }
    return StepLayout::from_assignment(std::move(hosts), node_of_task);
}

Result<StepLayout> distribute(HostList hosts, const std::string& counts,
                              std::string_view distribution) {
    constexpr std::string_view arbitrary_word = "arbitrary=";
    constexpr std::string_view plane_word = "plane=";
    if (distribution.starts_with(arbitrary_word)) {
        return arbitrary(std::move(hosts), distribution.substr(arbitrary_word.size()));
    }
    Distribution kind;
    if (distribution == "cyclic") {
        kind.kind = Distribution::Kind::cyclic;
    } else if (distribution.starts_with(plane_word)) {
        const auto size = number(distribution.substr(plane_word.size()));
        if (!size) return refuse(std::string(distribution), "not a number of tasks");
        kind = {Distribution::Kind::plane, *size};
    } else if (distribution != "block") {
        return refuse(std::string(distribution), "unknown distribution");
    }
    return parse_tasks_per_node(counts).and_then([&](const std::vector<TasksRun>& runs) {
        return StepLayout::distribute(std::move(hosts), runs, kind);
    });
}

// What follows is the form distgpu.plan/1.
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

Json step_json(const StepLayout& layout) {
    Json nodes = Json::array();
    for (std::uint32_t node = 0; node < layout.node_count(); ++node) {
        nodes.push_back(layout.hosts().name(NodeIndex{node}));
    }
    Json map = Json::array();
    for (const TaskMapBlock& block : layout.task_map()) {
        map.push_back({block.node, block.nodes, block.tasks_per_node, block.repeat});
    }
    return {
        {"job_id", step_id.job}, {"step_id", step_id.step}, {"nodes", nodes}, {"task_map", map}};
}

Json task_json(const NodePlan& node, const TaskPlan& task) {
    Json set = Json::object();
    for (const auto& [name, value] : task.set) set[name] = value;
    return {{"rank", task.rank.value},
            {"node", node.node_name},
            {"node_rank", task.node_rank.value},
            {"local_rank", task.local_id.value},
            {"set", set},
            {"unset", task.unset}};
}

std::string to_text(std::string_view mode, const StepLayout& layout,
                    const std::vector<NodePlan>& nodes) {
    std::map<std::uint32_t, std::string> tasks;
    std::vector<std::string> warnings;
    for (const NodePlan& node : nodes) {
        for (const TaskPlan& task : node.tasks) {
            tasks[task.rank.value] = task_json(node, task).dump();
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
        mode, step_json(layout).dump(), rendezvous.dump());
    for (const auto& [rank, line] : tasks) {
        text += line + (rank == tasks.rbegin()->first ? "\n" : ",\n");
    }
    return text + fmt::format("],\n\"warnings\":{}\n}}\n", Json(warnings).dump());
}

}  // namespace

Result<Case> read_case(std::string_view text) {
    Words lines;
    for (const std::string& line : split(text, '\n')) {
        if (line.empty()) continue;
        const std::size_t colon = line.find(": ");
        if (colon == std::string::npos) return refuse(line, "not 'NAME: TEXT'");
        if (!lines.emplace(line.substr(0, colon), line.substr(colon + 2)).second) {
            return refuse(line, "given twice");
        }
    }
    if (lines.size() != 3 ||
        lines.count("about") + lines.count("spec") + lines.count("shape") != 3) {
        return refuse("case", "not the three lines about, spec and shape");
    }
    return Case{lines["about"], lines["spec"], lines["shape"]};
}

Result<Shape> read_shape(std::string_view text) {
    return read_options(text).and_then([](Words options) -> Result<Shape> {
        const auto gpus = number(options.emplace("--gpus-per-node", "0").first->second);
        if (!gpus) return refuse(options["--gpus-per-node"], "not a number of GPUs");
        const auto cpus = number(options.emplace("--cpus-per-task", "8").first->second);
        if (!cpus) return refuse(options["--cpus-per-task"], "not a number of CPUs");
        const std::string distribution = options.emplace("--distribution", "block").first->second;
        return HostList::parse(options["--nodelist"])
            .and_then([&](HostList hosts) {
                return distribute(std::move(hosts), options["--tasks-per-node"], distribution);
            })
            .transform([&](StepLayout layout) {
                NodeFacts node_facts;
                node_facts.gpus = *gpus;
                node_facts.cpus_per_task = *cpus;
                return Shape{std::move(layout), node_facts};
            });
    });
}

Result<std::string> plan_json(const Case& golden_case) {
    const auto request = parse_spec("--distgpu", golden_case.spec);
    if (!request) return request.error();
    if (request->framework == nullptr) return refuse(golden_case.spec, "not a framework's mode");
    const auto shape = read_shape(golden_case.shape);
    if (!shape) return shape.error();
    RendezvousFacts facts;
    facts.step = step_id;
    std::vector<NodePlan> nodes;
    for (std::uint32_t node = 0; node < shape->layout.node_count(); ++node) {
        auto planned = plan(*request, shape->layout, facts, {}, shape->node_facts, NodeIndex{node});
        if (!planned) return planned.error();
        nodes.push_back(*std::move(planned));
    }
    return to_text(request->framework->mode, shape->layout, nodes);
}

}  // namespace distgpu::golden
