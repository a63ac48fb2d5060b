#include "run/plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace distgpu::scaling {
namespace {

using Indices = std::vector<std::uint32_t>;

Indices first_nodes(std::uint32_t count) {
    Indices nodes(count);
    std::iota(nodes.begin(), nodes.end(), 0U);
    return nodes;
}

// 1, 2, 4, ... and `last`.
Indices doubling_counts(std::uint32_t last) {
    Indices numbers;
    for (std::uint32_t number = 1; number < last; number *= 2) numbers.push_back(number);
    numbers.push_back(last);
    return numbers;
}

constexpr std::uint32_t quick_rail_repeats = 6;

std::uint32_t ranks_of(const std::vector<Node>& nodes, std::uint32_t count) {
    return std::accumulate(nodes.begin(), nodes.begin() + count, 0U,
                           [](std::uint32_t sum, const Node& node) { return sum + node.ranks; });
}

std::size_t add_group(Plan& plan, Group group) {
    plan.groups.push_back(std::move(group));
    return plan.groups.size() - 1;
}

// All nodes at the same time, because they do not share the links between their GPUs.
void add_nodes_alone(Plan& plan, const std::vector<Node>& nodes,
                     const std::vector<Operation>& all) {
    Stage stage{{}, all, true, 1, {}};
    const std::uint32_t first = nodes.front().ranks;
    if (first > 1) stage.median_group = add_group(plan, {Group::Kind::nodes, {0}, first, 1});
    for (std::uint32_t node = 0; node < nodes.size(); ++node) {
        if (nodes[node].ranks < 2) continue;
        stage.groups.push_back(add_group(plan, {Group::Kind::node, {node}, nodes[node].ranks, 0}));
    }
    if (stage.groups.empty()) return;
    plan.stages.push_back(stage);
    // Again, because a temporary disturbance is gone then.
    plan.stages.push_back({std::move(stage.groups), {plan.comparison}, false, 2, {}});
}

// All rails at the same time, as a collective of all GPUs uses them.
void add_rails(Plan& plan, const std::vector<Node>& nodes, std::uint32_t repeats) {
    const std::uint32_t rails = std::ranges::max_element(nodes, {}, &Node::ranks)->ranks;
    if (nodes.size() < 2 || rails < 2) return;
    Stage stage{{}, {plan.comparison}, false, repeats, {}};
    for (std::uint32_t rail = 0; rail < rails; ++rail) {
        Indices members;
        for (std::uint32_t node = 0; node < nodes.size(); ++node) {
            if (nodes[node].ranks > rail) members.push_back(node);
        }
        const auto ranks = static_cast<std::uint32_t>(members.size());
        if (ranks < 2) continue;
        stage.groups.push_back(
            add_group(plan, {Group::Kind::rail, std::move(members), ranks, rail}));
    }
    plan.stages.push_back(std::move(stage));
}

// Adds the pair's group to the stage, and to the plan if it is new.
void add_round_group(Stage& stage, Plan& plan, Group::Kind kind, const Pair& pair,
                     std::uint32_t ranks, std::uint32_t local_rank) {
    const auto [place, is_new] =
        plan.round_groups.try_emplace({kind, pair, local_rank}, plan.groups.size());
    if (is_new) plan.groups.push_back({kind, {pair.first, pair.second}, ranks, local_rank});
    stage.groups.push_back(place->second);
}

constexpr double min_iterations = 3;
constexpr double max_overrun = 5;        // relative to LoopLength::max_seconds
constexpr double max_iterations = 1000;  // each rank sends the time of each iteration
constexpr double max_ratio = 10;         // keeps the loop of a group without a network short

double iterations_of_slowest(double seconds, const LoopLength& length) {
    const double requested = length.iterations;
    if (seconds <= 0) return requested;
    const double least = min_iterations * seconds > max_overrun * length.max_seconds
                             ? 1
                             : std::min(requested, min_iterations);
    return std::max(std::min(requested, length.max_seconds / seconds), least);
}

}  // namespace

std::vector<Operation> operations_of(const Selection& selection, const IsSupported& is_supported) {
    std::vector<Operation> all;
    for (const Collective collective : selection.collectives) {
        for (const DataType type : selection.types) {
            for (const bool in_place : {false, true}) {
                if (!is_supported({collective, type, in_place, 0})) continue;
                for (const std::uint64_t bytes : selection.sizes) {
                    all.push_back({collective, type, in_place, bytes});
                }
                if (selection.quick) break;  // the other placement is as fast
            }
        }
    }
    return all;
}

Operation choose_comparison_operation(const std::vector<Operation>& operations) {
    Operation largest = operations.front();
    for (const Operation& one : operations) {
        if (one.collective != largest.collective || one.type != largest.type ||
            one.in_place != largest.in_place) {
            break;
        }
        largest = one;
    }
    return largest;
}

Plan make_plan(const std::vector<Node>& nodes, const Selection& selection,
               const IsSupported& is_supported) {
    Plan plan;
    const std::vector<Operation> all = operations_of(selection, is_supported);
    plan.comparison = choose_comparison_operation(all);
    const auto count = static_cast<std::uint32_t>(nodes.size());
    const std::uint32_t gpus_of_first = nodes.front().ranks;
    const auto add_stage = [&](Group group) {
        if (group.ranks < 2 && ranks_of(nodes, count) > 1) return;
        plan.stages.push_back({{add_group(plan, std::move(group))}, all, true, 1, {}});
    };
    for (const std::uint32_t gpus : selection.quick ? Indices{} : doubling_counts(gpus_of_first)) {
        if (gpus == gpus_of_first) break;  // the whole node is added below
        add_stage({Group::Kind::gpus, {0}, gpus, gpus});
    }
    if (count == 1) {
        add_stage({Group::Kind::nodes, {0}, gpus_of_first, 1});
    } else {
        add_nodes_alone(plan, nodes, all);
    }
    for (const std::uint32_t some : selection.quick ? Indices{count} : doubling_counts(count)) {
        if (some == 1) continue;
        add_stage({Group::Kind::nodes, first_nodes(some), ranks_of(nodes, some), some});
    }
    add_rails(plan, nodes, selection.quick ? quick_rail_repeats : matches_per_node);
    return plan;
}

Stage pairs_stage(Plan& plan, const std::vector<Node>& nodes, const Round& round) {
    Stage stage{{}, {plan.comparison}, false, 1, {}};
    for (const Pair& pair : round) {
        add_round_group(stage, plan, Group::Kind::pair, pair,
                        nodes[pair.first].ranks + nodes[pair.second].ranks, 0);
    }
    return stage;
}

Stage pair_rails_stage(Plan& plan, const std::vector<Node>& nodes, const Round& round) {
    Stage stage{{}, {plan.comparison}, false, 1, {}};
    for (const Pair& pair : round) {
        const std::uint32_t rails = std::min(nodes[pair.first].ranks, nodes[pair.second].ranks);
        for (std::uint32_t rail = 0; rails > 1 && rail < rails; ++rail) {
            add_round_group(stage, plan, Group::Kind::pair_rail, pair, 2, rail);
        }
    }
    return stage;
}

bool is_member(const Group& group, std::uint32_t local_rank) {
    if (group.kind == Group::Kind::gpus) return local_rank < group.number;
    const bool is_rail = group.kind == Group::Kind::rail || group.kind == Group::Kind::pair_rail;
    return !is_rail || local_rank == group.number;
}

std::vector<std::uint32_t> balance_iterations(const std::vector<double>& seconds,
                                              const LoopLength& length) {
    const double slowest = *std::ranges::max_element(seconds);
    const double least = std::floor(iterations_of_slowest(slowest, length));
    const double limit = std::max(least, std::min(max_iterations, max_ratio * least));
    std::vector<std::uint32_t> counts;
    counts.reserve(seconds.size());
    for (const double one : seconds) {
        const double balanced = one > 0 ? std::ceil(least * slowest / one) : 0;
        counts.push_back(static_cast<std::uint32_t>(std::clamp(balanced, least, limit)));
    }
    return counts;
}

Schedule make_schedule(std::uint32_t iterations, bool quick) {
    return quick ? Schedule{{iterations, 1}, 120, 160} : Schedule{{iterations}};
}

std::uint64_t first_probe_size(std::uint64_t largest, std::uint32_t ranks) {
    constexpr std::uint64_t first = 4096;
    constexpr std::uint64_t per_rank = 64;  // so that each rank has several elements
    return std::min(largest, std::max(first, per_rank * ranks));
}

std::uint64_t next_probe_size(std::uint64_t bytes, double seconds, std::uint64_t largest) {
    constexpr double long_enough = 0.1;
    constexpr std::uint64_t factor = 4;
    if (bytes >= largest || seconds >= long_enough) return 0;
    return std::min(largest, factor * bytes);
}

}  // namespace distgpu::scaling
