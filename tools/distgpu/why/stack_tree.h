// The stacks of all ranks as one tree, as LLNL's STAT shows them.
#pragma once

#include "why/diagnosis.h"

#include <cstdint>
#include <string>
#include <vector>

namespace distgpu {

struct StackNode {
    std::vector<Frame> frames;          // of a chain that does not branch, the outermost first
    std::vector<std::uint32_t> ranks;   // below it, ascending
    std::vector<StackNode> children{};  // the one with the fewest ranks first

    bool operator==(const StackNode&) const = default;
};

// Groups without a stack are not in it.
std::vector<StackNode> stack_tree(const std::vector<RankGroup>& groups);

// A line for each frame, indented, with the ranks at the end of each chain.
std::string to_text(const std::vector<StackNode>& tree);

}  // namespace distgpu
