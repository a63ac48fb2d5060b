// How many tasks each node has so far, kept per stretch of nodes.
#include "node_counts.h"

#include <algorithm>
#include <bit>

namespace distgpu::layout {

NodeCounts::NodeCounts(std::span<const TaskMapBlock> blocks, std::uint32_t node_count) {
    starts_ = {0, node_count};
    for (const auto& block : blocks) {
        starts_.push_back(block.node);
        starts_.push_back(block.node + block.nodes);
    }
    std::sort(starts_.begin(), starts_.end());
    starts_.erase(std::unique(starts_.begin(), starts_.end()), starts_.end());
    const auto stretches = starts_.size() - 1;
    leaves_ = std::bit_ceil(stretches);
    tree_.resize(2 * leaves_);
    // Leaves past the last stretch must never be the minimum.
    for (auto leaf = leaves_ + stretches; leaf < tree_.size(); ++leaf) {
        tree_[leaf].extent = {.min = UINT32_MAX, .max = 0};
    }
    for (auto v = leaves_ - 1; v > 0; --v) {
        tree_[v].extent.min = std::min(tree_[2 * v].extent.min, tree_[2 * v + 1].extent.min);
    }
}

std::size_t NodeCounts::stretch(std::uint64_t node) const {
    return static_cast<std::size_t>(std::lower_bound(starts_.begin(), starts_.end(), node) -
                                    starts_.begin());
}

NodeCounts::Extent NodeCounts::of(const TaskMapBlock& block) const {
    return query(1, 0, leaves_, stretch(block.node), stretch(block.node + block.nodes));
}

void NodeCounts::add(const TaskMapBlock& block, std::uint32_t tasks) {
    add(1, 0, leaves_, stretch(block.node), stretch(block.node + block.nodes), tasks);
}

NodeCounts::Extent NodeCounts::query(std::size_t vertex, std::size_t begin, std::size_t end,
                                     std::size_t from, std::size_t to) const {
    if (to <= begin || end <= from) return {.min = UINT32_MAX, .max = 0};
    const auto& here = tree_[vertex];
    if (from <= begin && end <= to) return here.extent;
    const auto middle = begin + (end - begin) / 2;
    const auto left = query(2 * vertex, begin, middle, from, to);
    const auto right = query(2 * vertex + 1, middle, end, from, to);
    return {.min = std::min(left.min, right.min) + here.added,
            .max = std::max(left.max, right.max) + here.added};
}

void NodeCounts::add(std::size_t vertex, std::size_t begin, std::size_t end, std::size_t from,
                     std::size_t to, std::uint32_t tasks) {
    if (to <= begin || end <= from) return;
    auto& here = tree_[vertex];
    if (from <= begin && end <= to) {
        here.added += tasks;
        here.extent.min += tasks;
        here.extent.max += tasks;
        return;
    }
    const auto middle = begin + (end - begin) / 2;
    add(2 * vertex, begin, middle, from, to, tasks);
    add(2 * vertex + 1, middle, end, from, to, tasks);
    const auto& left = tree_[2 * vertex].extent;
    const auto& right = tree_[2 * vertex + 1].extent;
    here.extent = {.min = std::min(left.min, right.min) + here.added,
                   .max = std::max(left.max, right.max) + here.added};
}

std::uint32_t NodeCounts::first_empty() const {
    std::size_t vertex = 1;
    while (vertex < leaves_) vertex = 2 * vertex + (tree_[2 * vertex].extent.min == 0 ? 0 : 1);
    return starts_[vertex - leaves_];
}

}  // namespace distgpu::layout
