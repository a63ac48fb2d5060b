// Who tries the network with whom: in each round every node sends to one other and hears from one,
// and in log2 N rounds each has tried log2 N others in both directions. In round k a node sends to
// the one 2^k places behind it, as in the dissemination barrier of Hensgen, Finkel and Manber
// (1988).
#pragma once

#include <cstdint>
#include <vector>

namespace distgpu {

struct PairRound {
    std::uint32_t to = 0;    // whom this node sends to
    std::uint32_t from = 0;  // and from whom it hears

    bool operator==(const PairRound&) const = default;
};

// Of the node at `place` of `nodes`, in their order. Nothing: it is alone.
std::vector<PairRound> pair_rounds(std::uint32_t place, std::uint32_t nodes);

}  // namespace distgpu
