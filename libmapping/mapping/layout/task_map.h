// The task map in the form of Flux RFC 34: building it compressed, and checking
// a map that somebody else wrote.
#pragma once

#include "mapping/layout/step_layout.h"

#include <cstdint>
#include <span>
#include <vector>

namespace distgpu::layout {

// Takes blocks in task order and joins each with the one before it where the
// tasks stay on the same nodes: [0,1,2,1],[1,1,2,1] is [0,2,2,1], and
// [0,2,1,1],[0,2,1,1] is [0,2,1,2]. No two neighbours of the result can be
// joined, so feeding the result in again changes nothing.
class TaskMapBuilder {
  public:
    // Preconditions: no field is zero, and all tasks added so far and these are
    // at most StepLayout::max_tasks.
    void add(TaskMapBlock block);

    // The same blocks `rounds` times over, each node once in them. False: that would be more than
    // StepLayout::max_blocks, and nothing is added.
    [[nodiscard]] bool add_rounds(std::vector<TaskMapBlock> round, std::uint32_t rounds);

    std::size_t size() const { return blocks_.size(); }
    std::vector<TaskMapBlock> take() && { return std::move(blocks_); }

  private:
    std::vector<TaskMapBlock> blocks_;
};

// Tasks of one round of a block, and of all its rounds.
constexpr std::uint64_t tasks_a_round(const TaskMapBlock& block) {
    return std::uint64_t{block.nodes} * block.tasks_per_node;
}

// The error of a map with more than StepLayout::max_blocks blocks.
Error too_many_blocks();

// Checks each block on its own and the number of tasks in all: zero fields,
// nodes past node_count, sums over the bounds, too many blocks or none.
// Returns the number of tasks.
Result<std::uint32_t> check_blocks(std::span<const TaskMapBlock> blocks, std::uint64_t node_count);

}  // namespace distgpu::layout
