#include "mapping/layout/layout_text.h"

#include "base/format.h"
#include "base/values.h"

#include <charconv>

namespace distgpu {

Result<std::vector<TasksRun>> parse_tasks_per_node(std::string_view text, StepSize limit) {
    constexpr const char* example = "write counts such as 4(x2),1";
    std::size_t at = 0;
    const auto refuse = [&](std::size_t offset, std::string problem, std::string remedy) {
        return Error{place_in_text("tasks per node", text, offset), std::move(problem),
                     std::move(remedy)};
    };
    const auto skip_if = [&](std::string_view expected) {
        const bool is_there = text.substr(at).starts_with(expected);
        if (is_there) at += expected.size();
        return is_there;
    };
    const auto read_count = [&](std::string_view noun,
                                std::uint64_t most) -> Result<std::uint32_t> {
        const auto rest = text.substr(at);
        std::uint64_t count = 0;
        const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), count);
        if (error == std::errc::invalid_argument) {
            return refuse(at, formatted("expected a number of {}", noun), example);
        }
        if (error == std::errc::result_out_of_range || count > most) {
            return refuse(at, formatted("more than {} {}", most, noun), "check the counts");
        }
        if (count == 0) return refuse(at, formatted("0 {}", noun), "each count must be at least 1");
        at += static_cast<std::size_t>(end - rest.data());
        return static_cast<std::uint32_t>(count);
    };
    std::vector<TasksRun> runs;
    std::uint64_t nodes = 0;
    std::uint64_t tasks = 0;
    do {
        const auto begin = at;
        const auto each = read_count("tasks", limit.tasks);
        if (!each) return each.error();
        runs.push_back({*each, 1});
        if (skip_if("(x")) {
            const auto count = read_count("nodes", limit.nodes);
            if (!count) return count.error();
            if (!skip_if(")")) return refuse(at, "expected ')'", example);
            runs.back().nodes = *count;
        }
        nodes += runs.back().nodes;
        tasks += std::uint64_t{*each} * runs.back().nodes;
        if (nodes > limit.nodes) {
            return refuse(begin, formatted("more than {} nodes", limit.nodes),
                          "check the counts after 'x'");
        }
        if (tasks > limit.tasks) {
            return refuse(begin, formatted("more than {} tasks", limit.tasks), "check the counts");
        }
    } while (skip_if(","));
    if (at < text.size()) return refuse(at, "expected ',' or the end", example);
    return runs;
}

namespace {

constexpr const char* advice = "see distgpu plan --help";

Error refuse(std::string_view option, std::string_view text, std::string problem) {
    return {formatted("{} {}", option, text), std::move(problem), advice};
}

// `option` includes the text between it and the number: "--nodes ", "--distribution plane=".
Result<std::uint32_t> parse_count(std::string_view option, std::string_view text,
                                  std::uint64_t most) {
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
    return parse_count("--nodes ", text.nodes, max_step_size.nodes)
        .and_then(
            [](std::uint32_t nodes) { return HostList::parse(formatted("node[1-{}]", nodes)); });
}

// How many of `tasks` node `node` gets when each of `nodes` gets up to `plane` of them per round.
std::uint32_t share_in_rounds(std::uint64_t tasks, std::uint64_t nodes, std::uint64_t node,
                              std::uint64_t plane) {
    const std::uint64_t round = plane * nodes;
    if (round == 0) return 0;
    const std::uint64_t rest = tasks % round;
    const std::uint64_t before = plane * node;
    const std::uint64_t last = rest > before ? std::min(rest - before, plane) : 0;
    return static_cast<std::uint32_t>(tasks / round * plane + last);
}

// Slurm's number of tasks on a node if every node has enough CPUs (slurm_step_layout.c, 22.05): one
// for each node, then the rest of a plane for each, then whole planes. Block and cyclic are planes
// of one task.
std::uint32_t count_tasks_on(std::uint32_t tasks, std::uint32_t nodes, std::uint32_t node,
                             std::uint32_t plane) {
    const std::uint64_t first_round = std::uint64_t{plane} * nodes;
    if (tasks >= first_round) {
        return plane + share_in_rounds(tasks - first_round, nodes, node, plane);
    }
    return 1 + share_in_rounds(tasks - nodes, nodes, node, plane - 1);
}

Result<std::vector<TasksRun>> distribute_tasks(std::string_view ntasks, std::uint32_t nodes,
                                               Distribution distribution) {
    const std::uint32_t plane = std::max(distribution.plane_size, 1U);
    return parse_count("--ntasks ", ntasks, max_step_size.tasks)
        .and_then([&](std::uint32_t tasks) -> Result<std::vector<TasksRun>> {
            if (tasks < nodes) {
                return refuse("--ntasks", ntasks, formatted("fewer than the {} nodes", nodes));
            }
            std::vector<TasksRun> runs;
            for (std::uint32_t node = 0; node < nodes; ++node) {
                const std::uint32_t own = count_tasks_on(tasks, nodes, node, plane);
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
    if (!text.ntasks.empty()) return distribute_tasks(text.ntasks, nodes, distribution);
    if (text.tasks_per_node.empty()) return std::vector<TasksRun>{{1, nodes}};
    auto runs = parse_tasks_per_node(text.tasks_per_node);
    const bool is_one_number = text.tasks_per_node.find_first_of("(,") == std::string::npos;
    if (runs && is_one_number) runs->front().nodes = nodes;
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
    return StepLayout::from_assignment(std::move(hosts), std::move(node_of_task));
}

// The text after the prefix; nullopt if it does not begin with it.
std::optional<std::string_view> without_prefix(std::string_view prefix, std::string_view text) {
    if (text.substr(0, prefix.size()) != prefix) return std::nullopt;
    return text.substr(prefix.size());
}

Result<Distribution> read_distribution(std::string_view text) {
    if (text.empty() || text == "block") return Distribution{};
    if (text == "cyclic") return Distribution{Distribution::Kind::cyclic, 0};
    if (const auto size = without_prefix("plane=", text)) {
        return parse_count("--distribution plane=", *size, max_step_size.tasks)
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
    if (const auto nodes = without_prefix("arbitrary=", text.distribution)) {
        return read_arbitrary(*std::move(hosts), *nodes);
    }
    const auto distribution = read_distribution(text.distribution);
    if (!distribution) return distribution.error();
    const auto counts = read_counts(text, static_cast<std::uint32_t>(hosts->size()), *distribution);
    if (!counts) return counts.error();
    return StepLayout::distribute(*std::move(hosts), *counts, *distribution);
}

}  // namespace distgpu
