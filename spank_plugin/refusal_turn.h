// When a node that refuses the step says so. The nodes find out each for itself, and the first that
// speaks ends the step for all, so that the others, who wait for their turn, are never heard.
#pragma once

#include <chrono>
#include <cstdint>

namespace distgpu {

// Of the node with this position, 0-based, among the step's `nodes`, from when its tasks were
// started: 1 s for node 0, 3 s for the last of 16 nodes, 7.7 s of 10,000. Precondition: node <
// nodes.
std::chrono::milliseconds refusal_turn(std::uint32_t node, std::uint32_t nodes);

}  // namespace distgpu
