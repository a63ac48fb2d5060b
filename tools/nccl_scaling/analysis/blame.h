// Which node, rail or pair of nodes is slower than its peers.
//
// A match of two nodes runs at the rate of the slower one, so one slow match accuses both. A
// node's score is the upper median of its partners' matches: it is right for every node as long
// as fewer than half of the nodes are slow, whereas a mean of the two middle values would take a
// healthy node for half slow where, as with three nodes, one of two partners is slow. A value is
// low only if it is below 0.9 of its peers' median and far outside their spread as well: among
// peers that hardly differ a tiny difference is many deviations, and among noisy ones 0.9 is
// nothing unusual. As the spread of three or four scores can be small by chance, a node is slow
// only if two thirds of its single matches are below 0.9 too, which noise does not bring about.
//
// A rail is the GPUs with one local rank, of all nodes, with the ports near them. NCCL divides the
// data evenly among the ports, so the slowest port of a node sets the rate of all its matches.
#pragma once

#include "analysis/evidence.h"
#include "results.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace distgpu::scaling {

inline constexpr double low_share = 0.9;  // of the peers' median
inline constexpr double often = 2.0 / 3;  // share of the measurements that must be that low

// How far outside the spread of `count` values the lowest of them must be to be called low: a
// robust z below -3.5, or below -sqrt(2 ln(10 count)) where that is farther (from 46 values on):
// of so many normally distributed values one is as low by chance once in a hundred times.
double low_z(std::size_t count);

struct NodeScore {
    std::uint32_t node = 0;
    double bandwidth = 0;       // bytes per second
    double relative = 0;        // to the median of all nodes' scores
    std::optional<double> z{};  // robust z; nothing: more than half of the scores are equal
    double low_matches = 0;     // share of its matches below low_share of that median
    bool slow = false;
};

struct PairScore {
    Pair pair;
    double bandwidth = 0;  // median of its matches
    double relative = 0;   // to the median of the pairs of two nodes that are well
    // Low although both nodes are well: the two share a link with other traffic, by the routes
    // that the network chose. Never held against the nodes.
    bool collision = false;
};

struct RailScore {
    std::uint32_t local_rank = 0;
    double bandwidth = 0;  // median of its measurements
    double relative = 0;   // to the upper median of all rails
    bool slow = false;
};

struct Limiter {
    enum class Kind : std::uint8_t {
        node,
        node_rail,  // one rail of one node
        rail,       // a rail of all nodes; with two nodes it may be of one of them
    };
    Kind kind = Kind::node;
    std::uint32_t node = 0;        // of node and node_rail: index into Results::nodes
    std::uint32_t local_rank = 0;  // of node_rail and rail

    bool operator==(const Limiter&) const = default;
};

struct Blame {
    // At least three nodes have two partners each. Two nodes alone accuse each other.
    bool decidable = false;
    std::vector<NodeScore> nodes;   // by node; only those with two partners or more
    std::vector<PairScore> pairs;   // by pair
    std::vector<RailScore> rails;   // by local rank; of one rail only it has no peers
    std::vector<Limiter> limiters;  // empty: nobody is slower than its peers
};

Blame blame(const Evidence& evidence);

}  // namespace distgpu::scaling
