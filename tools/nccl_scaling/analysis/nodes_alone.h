// Which nodes are slow by themselves, before any network is in play: each measured the links
// between its own GPUs, all of them at the same time.
#pragma once

#include "results.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace distgpu::scaling {

struct SlowNode {
    std::uint32_t node = 0;          // index into Results::nodes
    double relative = 0;             // to the median of its peers: nodes with as many ranks
    std::optional<double> robust_z;  // nothing: more than half of the peers are equal
};

// Those whose bus bandwidth is below 0.9 of the peers' median, and with a robust z below -3.5
// (Iglewicz and Hoaglin, 1993); the slowest first. Three peers at least: of two none is the usual.
std::vector<SlowNode> slow_alone(const Results& results);

}  // namespace distgpu::scaling
