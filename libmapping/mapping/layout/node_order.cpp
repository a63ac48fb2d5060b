// See node_order.h, and the ranks of a step whose nodes have an order of their own.
#include "mapping/layout/node_order.h"

#include "base/format.h"
#include "task_map.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace distgpu {
namespace {

// Of ranks in turns: 8192 nodes with 16 tasks. A layout whose text a user wrote takes 8 MiB then.
constexpr std::size_t most_blocks = std::size_t{1} << 17U;

// The nodes as Slurm dealt tasks to them: by their first task.
std::vector<NodeIndex> slurms_order(const StepLayout& layout) {
    std::vector<std::uint32_t> first;
    std::vector<NodeIndex> order;
    for (std::uint32_t i = 0; i < layout.node_count(); ++i) {
        order.push_back(NodeIndex{i});
        first.push_back(layout.task(order.back(), LocalRank{0}).value);
    }
    std::sort(order.begin(), order.end(),
              [&](NodeIndex a, NodeIndex b) { return first[a.value] < first[b.value]; });
    return order;
}

std::vector<NodeRank> inverse(const std::vector<NodeIndex>& order) {
    std::vector<NodeRank> ranks(order.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) ranks[order[i].value] = NodeRank{i};
    return ranks;
}

bool have_same_counts(const StepLayout& layout, const std::vector<NodeIndex>& slurms,
                      const std::vector<NodeIndex>& order) {
    return std::equal(order.begin(), order.end(), slurms.begin(), [&](NodeIndex a, NodeIndex b) {
        return layout.tasks_on(a) == layout.tasks_on(b);
    });
}

bool is_in_blocks(const StepLayout& layout) {
    for (std::uint32_t i = 0; i < layout.node_count(); ++i) {
        const NodeIndex node{i};
        const std::uint32_t last = layout.tasks_on(node) - 1;
        const TaskId first = layout.task(node, LocalRank{0});
        if (layout.task(node, LocalRank{last}).value != first.value + last) return false;
    }
    return true;
}

std::vector<TaskMapBlock> dealt_in_blocks(const StepLayout& layout,
                                          const std::vector<NodeIndex>& order) {
    layout::TaskMapBuilder map;
    for (const NodeIndex node : order) {
        map.add(
            {.node = node.value, .nodes = 1, .tasks_per_node = layout.tasks_on(node), .repeat = 1});
    }
    return std::move(map).take();
}

// order[i] in the place of the i-th node that Slurm dealt to. Nothing: the map would be too long.
std::optional<std::vector<TaskMapBlock>> dealt_in_turns(const StepLayout& layout,
                                                        const std::vector<NodeIndex>& slurms,
                                                        const std::vector<NodeIndex>& order) {
    const std::vector<NodeRank> position = inverse(slurms);
    layout::TaskMapBuilder map;
    for (const TaskMapBlock& block : layout.task_map()) {
        layout::TaskMapBuilder round;
        for (std::uint32_t i = 0; i < block.nodes; ++i) {
            const NodeIndex node = order[position[block.node + i].value];
            round.add({.node = node.value,
                       .nodes = 1,
                       .tasks_per_node = block.tasks_per_node,
                       .repeat = 1});
        }
        const bool added = map.add_rounds(std::move(round).take(), block.repeat);
        if (!added || map.size() > most_blocks) return std::nullopt;
    }
    return std::move(map).take();
}

}  // namespace

std::unordered_map<std::string, NodeIndex> by_name(const HostList& nodes) {
    std::unordered_map<std::string, NodeIndex> found;
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
        found.emplace(nodes.name(NodeIndex{i}), NodeIndex{i});
    }
    return found;
}

Result<std::vector<NodeIndex>> order_of(std::string_view source, const HostList& nodes,
                                        const HostList& list) {
    const auto refuse = [&](std::string problem) {
        return Error{std::string(source), std::move(problem),
                     formatted("name each node of the step once: {}", nodes.to_string())};
    };
    const auto nodes_by_name = by_name(nodes);
    std::vector<NodeIndex> order;
    std::vector<bool> named(nodes.size());
    for (std::uint32_t i = 0; i < list.size(); ++i) {
        const std::string name = list.name(NodeIndex{i});
        const auto found = nodes_by_name.find(name);
        if (found == nodes_by_name.end()) {
            return refuse(formatted("names {}, which is not a node of the step", name));
        }
        const NodeIndex node = found->second;
        if (named[node.value]) return refuse(formatted("names {} twice", name));
        named[node.value] = true;
        order.push_back(node);
    }
    const auto missing = std::find(named.begin(), named.end(), false);
    if (missing == named.end()) return order;
    const NodeIndex node{static_cast<std::uint32_t>(missing - named.begin())};
    return refuse(formatted("does not name {}", nodes.name(node)));
}

std::string order_text(const StepLayout& layout) {
    std::vector<std::string> names;
    for (const NodeIndex node : layout.order()) names.push_back(layout.hosts().name(node));
    return HostList::from_names(names).to_string();
}

Result<StepLayout> in_order(const StepLayout& layout, std::string_view text) {
    constexpr std::uint64_t most = std::uint64_t{1} << 17U;  // twice the nodes that Slurm can have
    return HostList::parse(text, std::min<std::uint64_t>(layout.node_count(), most))
        .and_then([&](const HostList& list) { return order_of("order", layout.hosts(), list); })
        .and_then(
            [&](std::vector<NodeIndex> order) { return layout.with_order(std::move(order)); });
}

Result<StepLayout> StepLayout::with_order(std::vector<NodeIndex> order) const {
    const std::vector<NodeIndex> slurms = slurms_order(*this);
    std::optional<std::vector<TaskMapBlock>> map;
    if (is_in_blocks(*this)) {
        map = dealt_in_blocks(*this, order);
    } else if (have_same_counts(*this, slurms, order)) {
        map = dealt_in_turns(*this, slurms, order);
        if (!map) {
            return Error{"order",
                         formatted("tasks that are dealt in turns would take {} blocks or more",
                                   most_blocks),
                         "use srun -m block"};
        }
    } else {
        return Error{"order",
                     formatted("the tasks are dealt to the nodes in turns, and those have {} to {}",
                               min_tasks_per_node(), max_tasks_per_node()),
                     "use srun -m block, or the same --ntasks-per-node on all nodes"};
    }
    auto ranks = from_task_map(hosts_, *std::move(map));
    if (!ranks) return ranks.error();
    StepLayout layout = *this;
    layout.node_ranks_ = inverse(order);
    layout.order_ = std::move(order);
    layout.by_rank_ = std::make_shared<const StepLayout>(*std::move(ranks));
    return layout;
}

Placement StepLayout::place(GlobalRank rank) const {
    const StepLayout& ranks = by_rank_ ? *by_rank_ : *this;
    return ranks.place(TaskId{rank.value});
}

GlobalRank StepLayout::rank(NodeIndex node, LocalRank local_rank) const {
    const StepLayout& ranks = by_rank_ ? *by_rank_ : *this;
    return GlobalRank{ranks.task(node, local_rank).value};
}

NodeRank StepLayout::node_rank(NodeIndex node) const {
    if (!node_ranks_.empty()) return node_ranks_[node.value];
    // The ranks are the task ids, and a node's first task has its lowest.
    return NodeRank{nodes_before(task(node, LocalRank{0}))};
}

}  // namespace distgpu
