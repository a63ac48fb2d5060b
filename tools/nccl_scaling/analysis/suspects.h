// Input of the search for limiters: the measurements of pairs, rails and nodes, and everything that
// could be slow (the suspects), each with the matches that it would slow down.
#pragma once

#include "analysis/pairs.h"
#include "results/results.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace distgpu::scaling {

// Bandwidths are bus bandwidths in bytes per second, with one entry for each time that a pair, rail
// or node was measured.
struct Evidence {
    struct Match {
        Pair pair;
        double bandwidth = 0;
        std::uint32_t round = 0;    // matches of one round were played at the same time
        double relative_error = 0;  // standard error of its median, from its iterations

        bool operator==(const Match&) const = default;
    };
    struct PairRail {
        Pair pair;
        std::uint32_t local_rank = 0;
        double bandwidth = 0;  // of the two GPUs with this local rank

        bool operator==(const PairRail&) const = default;
    };
    std::vector<Match> matches{};
    std::map<std::uint32_t, std::vector<double>> rails{};        // by local rank
    std::map<std::uint32_t, std::vector<double>> nodes_alone{};  // by node, all its GPUs
    std::vector<PairRail> pair_rails{};
    std::vector<std::string> leaves{};            // by node: its switch; empty if unknown
    std::optional<double> all_nodes_bandwidth{};  // together, same operation as the matches
};

// Uses only one operation for each kind of group: the first one measured with the largest size.
// Bandwidths of different sizes are not comparable, and small sizes show latency instead.
Evidence evidence_of(const Results& results);

// A part that can hold a run back.
struct Limiter {
    enum class Kind : std::uint8_t {
        node,
        node_rail,  // one rail of one node
        rail,       // one rail on all nodes; with two nodes, perhaps on only one of them
        leaf,       // a switch: all traffic of its nodes
        uplink,     // of a switch: all traffic that leaves it
        spine,      // all traffic between switches
        paths,      // some pairs or matches without a pattern: colliding routes
    };
    Kind kind = Kind::node;
    std::uint32_t node = 0;  // index into Results::nodes; of leaf and uplink: one of its nodes
    std::uint32_t local_rank = 0;  // of node_rail and rail
    bool is_intermittent = false;  // slow in only a part of the measurements

    bool operator==(const Limiter&) const = default;
};

// True if it is one node or a port of one node.
inline bool concerns_one_node(const Limiter& limiter) {
    return limiter.kind == Limiter::Kind::node || limiter.kind == Limiter::Kind::node_rail;
}

struct Suspect {
    Limiter limiter;
    std::vector<std::uint32_t> matches;  // that it would slow down: indices, ascending
    bool is_alone_on_switch = false;     // of a node: its switch would slow the same matches
};

// The nodes come first, by number, without those that have a single partner, because the partner
// may be the slow one. Suspects with the same matches become one: with two switches, the uplink of
// either is the spine. If the switches are unknown, clusters of nodes that are fast among each
// other and slow between clusters count as switches.
std::vector<Suspect> suspects_of(const Evidence& evidence);

}  // namespace distgpu::scaling
