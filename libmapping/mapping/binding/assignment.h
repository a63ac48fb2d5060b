// The exact assignment of items to owners by least total cost, each owner with an equal
// share: GPUs to tasks, or tasks to GPUs.
#pragma once

#include <cstdint>
#include <vector>

namespace distgpu {

// costs[item][owner], 0 or more. Gives the owner of each item: every owner has
// floor(items/owners) or one more, the sum of costs is the least possible, and among
// such assignments items and owners run in the same order as far as the costs let them.
// Preconditions: at least one owner, items >= owners, every row of one length.
// Cost: items * owners * (items + owners^2).
std::vector<std::uint32_t> assign(const std::vector<std::vector<std::int64_t>>& costs);

}  // namespace distgpu
