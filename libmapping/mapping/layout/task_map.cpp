// Building the task map compressed, and checking one that somebody else wrote.
#include "task_map.h"

#include "base/format.h"

#include <string>
#include <utility>

namespace distgpu::layout {

namespace {

// One node's rounds are consecutive tasks: one way to write them.
void normalize(TaskMapBlock& block) {
    if (block.nodes != 1) return;
    block.tasks_per_node *= block.repeat;
    block.repeat = 1;
}

// Joins `block` to `last` if the result is one block.
bool join(TaskMapBlock& last, const TaskMapBlock& block) {
    if (last.tasks_per_node == block.tasks_per_node && last.repeat == 1 && block.repeat == 1 &&
        block.node == last.node + last.nodes) {
        last.nodes += block.nodes;
        return true;
    }
    if (last.node != block.node || last.nodes != block.nodes) return false;
    if (last.nodes == 1) {
        last.tasks_per_node += block.tasks_per_node;
        return true;
    }
    if (last.tasks_per_node != block.tasks_per_node) return false;
    last.repeat += block.repeat;
    return true;
}

Error bad_map(std::string problem, std::string remedy) {
    return {.object = "task map", .problem = std::move(problem), .remedy = std::move(remedy)};
}

std::string show(std::size_t index, const TaskMapBlock& block) {
    return formatted("block {} [{},{},{},{}]", index, block.node, block.nodes, block.tasks_per_node,
                     block.repeat);
}

}  // namespace

void TaskMapBuilder::add(TaskMapBlock block) {
    normalize(block);
    blocks_.push_back(block);
    // A block that grew may now continue or repeat the one before it.
    while (blocks_.size() > 1 && join(blocks_[blocks_.size() - 2], blocks_.back())) {
        blocks_.pop_back();
    }
}

bool TaskMapBuilder::add_rounds(std::vector<TaskMapBlock> round, std::uint32_t rounds) {
    // Nodes in one stretch: the map repeats the block. Otherwise the stretches
    // alternate, and the map has no short form for that.
    std::uint64_t copies = rounds;
    if (round.size() == 1) {
        round.front().repeat = rounds;
        copies = 1;
    }
    if (size() + copies * round.size() > StepLayout::max_blocks) return false;
    for (; copies > 0; --copies) {
        for (const auto& block : round) add(block);
    }
    return true;
}

Error too_many_blocks() {
    return bad_map(formatted("more than {} blocks", StepLayout::max_blocks),
                   "use a more regular distribution of the tasks");
}

Result<std::uint32_t> check_blocks(std::span<const TaskMapBlock> blocks, std::uint64_t node_count) {
    if (blocks.empty()) return bad_map("no block", "give at least one [nodeid,nnodes,ppn,repeat]");
    if (blocks.size() > StepLayout::max_blocks) return too_many_blocks();
    std::uint64_t tasks = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const auto& block = blocks[i];
        if (block.nodes == 0 || block.tasks_per_node == 0 || block.repeat == 0) {
            return bad_map(formatted("{} has a zero count", show(i, block)),
                           "nnodes, ppn and repeat must be at least 1");
        }
        const auto end = std::uint64_t{block.node} + block.nodes;
        if (end > node_count) {
            return bad_map(formatted("{} ends at node {}, but the host list has {} nodes",
                                     show(i, block), end - 1, node_count),
                           "number the nodes from 0 in the order of the host list");
        }
        // Both products are of two numbers of 32 bits: they fit 64.
        const auto round = tasks_a_round(block);
        if (round > StepLayout::max_tasks || round * block.repeat > StepLayout::max_tasks - tasks) {
            return bad_map(
                formatted("{} makes more than {} tasks", show(i, block), StepLayout::max_tasks),
                "check ppn and repeat");
        }
        tasks += round * block.repeat;
    }
    return static_cast<std::uint32_t>(tasks);
}

}  // namespace distgpu::layout
