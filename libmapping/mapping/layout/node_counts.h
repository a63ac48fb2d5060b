// How many tasks each node has so far, kept per stretch of nodes: adding to and
// asking about a range of nodes costs the logarithm of the number of stretches.
#pragma once

#include "mapping/layout/step_layout.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace distgpu::layout {

class NodeCounts {
  public:
    struct Extent {
        std::uint32_t min = 0;
        std::uint32_t max = 0;
    };

    // All nodes start with 0 tasks. Ranges asked of and added to must begin and
    // end where blocks do.
    NodeCounts(std::span<const TaskMapBlock> blocks, std::uint32_t node_count);

    // Of the nodes of one block, or of all.
    Extent of(const TaskMapBlock& block) const;
    Extent all() const { return tree_[1].extent; }

    // `tasks` more on each node of a block. Precondition: no sum exceeds 32 bits.
    void add(const TaskMapBlock& block, std::uint32_t tasks);

    // The first node without a task. Precondition: all().min == 0.
    std::uint32_t first_empty() const;

  private:
    // A segment tree: `added` counts for all leaves below, `extent` includes it.
    struct Vertex {
        Extent extent;
        std::uint32_t added = 0;
    };

    std::size_t stretch(std::uint64_t node) const;
    Extent query(std::size_t vertex, std::size_t begin, std::size_t end, std::size_t from,
                 std::size_t to) const;
    void add(std::size_t vertex, std::size_t begin, std::size_t end, std::size_t from,
             std::size_t to, std::uint32_t tasks);

    std::vector<std::uint32_t> starts_;  // first node of each stretch, and node_count
    std::size_t leaves_ = 1;             // a power of two
    std::vector<Vertex> tree_;           // children of v: 2v and 2v + 1
};

}  // namespace distgpu::layout
