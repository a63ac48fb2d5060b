#include "mapping/layout/layout_text.h"

#include "base/excerpt.h"
#include "base/format.h"
#include "base/values.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

constexpr const char* advice = "see distgpu plan --help";

Error refuse(std::string_view option, std::string_view text, std::string problem) {
    return {formatted("{} {}", option, text), std::move(problem), advice};
}

// `option`: with what stands between it and the number, "--nodes " or "--distribution plane=".
Result<std::uint32_t> count(std::string_view option, std::string_view text, std::uint64_t most) {
    const std::uint32_t value = whole_number(text).value_or(0);
    if (value > 0 && value <= most) return value;
    return Error{formatted("{}{}", option, text), formatted("not a number from 1 to {}", most),
                 advice};
}

Result<HostList> read_hosts(const LayoutText& text) {
    if (text.nodelist.empty() && text.nodes.empty()) {
        return Error{"the step", "no nodes are given", "give --nodes N or --nodelist NODES"};
    }
    if (text.nodes.empty()) return HostList::parse(text.nodelist);
    if (!text.nodelist.empty()) {
        return refuse("--nodes", text.nodes,
                      "given together with --nodelist, which already counts them");
    }
    return count("--nodes ", text.nodes, StepLayout::max_nodes).and_then([](std::uint32_t nodes) {
        return HostList::parse(formatted("node[1-{}]", nodes));
    });
}

// The part of node `node` when `tasks` are dealt in rounds of up to `plane` for each of `nodes`.
std::uint32_t dealt(std::uint64_t tasks, std::uint64_t nodes, std::uint64_t node,
                    std::uint64_t plane) {
    const std::uint64_t round = plane * nodes;
    if (round == 0) return 0;
    const std::uint64_t rest = tasks % round;
    const std::uint64_t before = plane * node;
    const std::uint64_t last = rest > before ? std::min(rest - before, plane) : 0;
    return static_cast<std::uint32_t>(tasks / round * plane + last);
}

// As Slurm counts them where each node has CPUs enough (slurm_step_layout.c, 22.05): one for each
// node, then the rest of a plane for each, then planes. Block and cyclic are planes of one task.
std::uint32_t tasks_on(std::uint32_t tasks, std::uint32_t nodes, std::uint32_t node,
                       std::uint32_t plane) {
    const std::uint64_t first_round = std::uint64_t{plane} * nodes;
    if (tasks >= first_round) return plane + dealt(tasks - first_round, nodes, node, plane);
    return 1 + dealt(tasks - nodes, nodes, node, plane - 1);
}

Result<std::vector<TasksRun>> deal_tasks(std::string_view ntasks, std::uint32_t nodes,
                                         Distribution distribution) {
    const std::uint32_t plane = std::max(distribution.plane_size, 1U);
    return count("--ntasks ", ntasks, StepLayout::max_tasks)
        .and_then([&](std::uint32_t tasks) -> Result<std::vector<TasksRun>> {
            if (tasks < nodes) {
                return refuse("--ntasks", ntasks, formatted("fewer than the {} nodes", nodes));
            }
            std::vector<TasksRun> runs;
            for (std::uint32_t node = 0; node < nodes; ++node) {
                const std::uint32_t own = tasks_on(tasks, nodes, node, plane);
                if (runs.empty() || runs.back().tasks != own) runs.push_back({own, 0});
                ++runs.back().nodes;
            }
            return runs;
        });
}

Result<std::vector<TasksRun>> read_counts(const LayoutText& text, std::uint32_t nodes,
                                          Distribution distribution) {
    if (!text.ntasks.empty() && !text.tasks_per_node.empty()) {
        return refuse("--ntasks", text.ntasks,
                      "given together with the tasks of each node, which already count them");
    }
    if (!text.ntasks.empty()) return deal_tasks(text.ntasks, nodes, distribution);
    if (text.tasks_per_node.empty()) return std::vector<TasksRun>{{1, nodes}};
    auto runs = parse_tasks_per_node(text.tasks_per_node);
    const bool one_number = text.tasks_per_node.find_first_of("(,") == std::string::npos;
    if (runs && one_number) runs->front().nodes = nodes;
    return runs;
}

Result<StepLayout> read_arbitrary(HostList hosts, std::string_view nodes) {
    std::vector<std::uint32_t> node_of_task;
    for (const std::string_view name : comma_items(nodes)) {
        const auto node = hosts.find(name);
        if (!node) {
            return refuse("--distribution", excerpt(formatted("arbitrary={}", nodes)),
                          formatted("{} is not a node of the step", name));
        }
        node_of_task.push_back(node->value);
    }
    return StepLayout::from_assignment(std::move(hosts), node_of_task);
}

// What follows the prefix, where the text begins with it.
std::optional<std::string_view> after(std::string_view prefix, std::string_view text) {
    if (text.substr(0, prefix.size()) != prefix) return std::nullopt;
    return text.substr(prefix.size());
}

Result<Distribution> read_distribution(std::string_view text) {
    if (text.empty() || text == "block") return Distribution{};
    if (text == "cyclic") return Distribution{Distribution::Kind::cyclic, 0};
    if (const auto size = after("plane=", text)) {
        return count("--distribution plane=", *size, StepLayout::max_tasks)
            .transform([](std::uint32_t tasks) {
                return Distribution{Distribution::Kind::plane, tasks};
            });
    }
    return refuse("--distribution", text, "not block, cyclic, plane=N or arbitrary=NODE,...");
}

}  // namespace

Result<StepLayout> parse_layout(const LayoutText& text) {
    auto hosts = read_hosts(text);
    if (!hosts) return hosts.error();
    if (const auto nodes = after("arbitrary=", text.distribution)) {
        return read_arbitrary(*std::move(hosts), *nodes);
    }
    const auto distribution = read_distribution(text.distribution);
    if (!distribution) return distribution.error();
    const auto counts = read_counts(text, static_cast<std::uint32_t>(hosts->size()), *distribution);
    if (!counts) return counts.error();
    return StepLayout::distribute(*std::move(hosts), *counts, *distribution);
}

}  // namespace distgpu
