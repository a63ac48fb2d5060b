// See node_order.h, and the ranks of a step whose nodes have an order of their own.
#include "mapping/layout/node_order.h"

#include "base/format.h"
#include "mapping/layout/step_layout.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace distgpu {
namespace {

// The nodes as Slurm dealt tasks to them: by their first task.
std::vector<NodeIndex> slurms_order(const StepLayout& layout) {
    std::vector<std::pair<TaskId, NodeIndex>> first;
    first.reserve(layout.node_count());
    for (std::uint32_t i = 0; i < layout.node_count(); ++i) {
        first.emplace_back(layout.task(NodeIndex{i}, LocalRank{0}), NodeIndex{i});
    }
    std::sort(first.begin(), first.end());
    std::vector<NodeIndex> order;
    order.reserve(first.size());
    for (const auto& [task, node] : first) order.push_back(node);
    return order;
}

std::vector<NodeRank> inverse(const std::vector<NodeIndex>& order) {
    std::vector<NodeRank> ranks(order.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) ranks[order[i].value] = NodeRank{i};
    return ranks;
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

std::vector<std::uint32_t> nodes_in_blocks(const StepLayout& layout,
                                           const std::vector<NodeIndex>& order) {
    std::vector<std::uint32_t> node_of_rank;
    node_of_rank.reserve(layout.task_count());
    for (const NodeIndex node : order) {
        node_of_rank.insert(node_of_rank.end(), layout.tasks_on(node), node.value);
    }
    return node_of_rank;
}

// order[i] in the place of the i-th node that Slurm dealt to.
std::vector<std::uint32_t> nodes_in_turns(const StepLayout& layout,
                                          const std::vector<NodeIndex>& slurms,
                                          const std::vector<NodeIndex>& order) {
    const std::vector<NodeRank> position = inverse(slurms);
    std::vector<std::uint32_t> node_of_rank(layout.task_count());
    for (std::uint32_t task = 0; task < layout.task_count(); ++task) {
        const NodeIndex node = layout.place(TaskId{task}).node;
        node_of_rank[task] = order[position[node.value].value].value;
    }
    return node_of_rank;
}

}  // namespace

Result<std::vector<NodeIndex>> order_of(std::string_view source, const HostList& nodes,
                                        const HostList& list) {
    const auto refuse = [&](std::string problem) {
        return Error{std::string(source), std::move(problem),
                     formatted("name each node of the step once: {}", nodes.to_string())};
    };
    std::vector<NodeIndex> order;
    std::vector<bool> named(nodes.size());
    for (std::uint32_t i = 0; i < list.size(); ++i) {
        const std::string name = list.name(NodeIndex{i});
        const auto node = nodes.find(name);
        if (!node) return refuse(formatted("names {}, which is not a node of the step", name));
        if (named[node->value]) return refuse(formatted("names {} twice", name));
        named[node->value] = true;
        order.push_back(*node);
    }
    const auto missing = std::find(named.begin(), named.end(), false);
    if (missing == named.end()) return order;
    const NodeIndex node{static_cast<std::uint32_t>(missing - named.begin())};
    return refuse(formatted("does not name {}", nodes.name(node)));
}

Result<StepLayout> StepLayout::with_order(std::vector<NodeIndex> order) const {
    const std::vector<NodeIndex> slurms = slurms_order(*this);
    const bool same_counts = std::equal(
        order.begin(), order.end(), slurms.begin(),
        [this](NodeIndex mine, NodeIndex theirs) { return tasks_on(mine) == tasks_on(theirs); });
    if (!same_counts && !is_in_blocks(*this)) {
        return Error{"order",
                     formatted("the tasks are dealt to the nodes in turns, and those have {} to {}",
                               min_tasks_per_node(), max_tasks_per_node()),
                     "use srun -m block, or the same --ntasks-per-node on all nodes"};
    }
    auto ranks = from_assignment(
        hosts_, same_counts ? nodes_in_turns(*this, slurms, order) : nodes_in_blocks(*this, order));
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
