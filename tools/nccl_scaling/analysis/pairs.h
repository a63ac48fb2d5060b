// The round-robin tournament in which pairs of nodes are measured. In a round each node plays at
// most one match, so that all pairs run at the same time without sharing a node's links.
//
// Circle method (Lucas, 1883; used since for chess and football): one node stays, the others
// move on by one place a round, and opposite places meet. k nodes need k - 1 rounds if k is even,
// and k rounds with one bye each if it is odd.
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

// `one` and `other` in any order.
inline Pair ordered_pair(std::uint32_t one, std::uint32_t other) {
    return one < other ? Pair{one, other} : Pair{other, one};
}

// Disjoint pairs, measured at the same time.
using Round = std::vector<Pair>;

// The least number of matches per node, and the number of measurements of each rail. Four nodes
// need the most, because a match with the slow node says nothing about its partner. If one node is
// 15 % slower and each match has 3 % noise (one standard deviation), the slow node is missed in 4 %
// of the clusters of four nodes, and in none of 1,000 larger ones (limiters_simulation_test.cpp).
inline constexpr std::uint32_t matches_per_node = 24;

// The rounds in order; each node plays at least `matches` matches. A small cluster repeats whole
// tournaments, so that a temporary disturbance hits different pairs. A large cluster plays a part
// of one, with rounds evenly spread over it, so that a node's partners are spread over the cluster.
// Two nodes play once, because that cannot tell which of them is slow. Fewer nodes: no rounds.
std::vector<Round> tournament(std::uint32_t nodes, std::uint32_t matches = matches_per_node);

// Rounds in which each of the named nodes, at most half of all, meets other nodes from all over the
// cluster. The rest play each other, so that the network carries as much as in the tournament. No
// rounds if `named` is empty.
std::vector<Round> retest_rounds(const std::vector<std::uint32_t>& named, std::uint32_t nodes);

}  // namespace distgpu::scaling
