// Who meets whom once a tournament has accused somebody.
#pragma once

#include "analysis/blame.h"
#include "analysis/pairs.h"

#include <cstdint>
#include <vector>

namespace distgpu::scaling {

// The nodes that are named, the slowest first; of more than half of all nodes so many.
std::vector<std::uint32_t> nodes_to_retest(const Blame& blame, std::uint32_t nodes);

// Rounds in which each of these, half of all nodes at most, meets others, spread over the cluster,
// and the rest meets among itself: the network carries as much as in the tournament. Of none: none.
std::vector<Round> retest_rounds(const std::vector<std::uint32_t>& named, std::uint32_t nodes);

}  // namespace distgpu::scaling
