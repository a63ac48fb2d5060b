// Which pairs of nodes are measured together: a round-robin tournament. In a round each node plays
// at most one match, so that all its pairs run at the same time without sharing a node's links.
//
// Circle method (Lucas, 1883; used since for chess and football): one node stays, the others
// move on by one place a round, and opposite places meet. k nodes need k - 1 rounds where k is
// even; where it is odd k rounds, in each of which one node has a bye.
#pragma once

#include <cstdint>
#include <vector>

namespace distgpu::scaling {

// Indices into Results::nodes, first < second.
struct Pair {
    std::uint32_t first = 0;
    std::uint32_t second = 0;

    bool operator==(const Pair&) const = default;
    bool operator<(const Pair& other) const {
        return first != other.first ? first < other.first : second < other.second;
    }
};

// Of two nodes in any order.
inline Pair pair_of(std::uint32_t one, std::uint32_t other) {
    return one < other ? Pair{one, other} : Pair{other, one};
}

// Disjoint pairs.
using Round = std::vector<Pair>;

// Matches that each node plays at least, and times that each rail is measured. Four nodes need the
// most: one of a node's three partners may be the slow one, and is no help. Of clusters of four
// with a node that is 15 % slower, and 3 % noise (one standard deviation) on each match, 4 % go
// unnoticed, of larger ones none in 1,000. blame_simulation_test.cpp measures it.
inline constexpr std::uint32_t matches_per_node = 24;

// The rounds in their order, each node in at least `matches` matches. A small cluster plays whole
// tournaments again and again: a disturbance that lasts meets different pairs. A large cluster
// plays part of one, its rounds evenly spread over the tournament, so that a node's partners are
// spread over the cluster. Two nodes are one pair, once: they decide nothing about a node. Fewer:
// no round.
std::vector<Round> tournament(std::uint32_t nodes, std::uint32_t matches = matches_per_node);

// Rounds in which each of the named nodes, half of all at most, meets others, spread over the
// cluster, and the rest meets among itself: the network carries as much as in the tournament. Of
// none: none.
std::vector<Round> retest_rounds(const std::vector<std::uint32_t>& named, std::uint32_t nodes);

}  // namespace distgpu::scaling
