// What the search for a limiter goes by: the measurements of pairs, rails and nodes, and everything
// that may be slow, each with the matches that it would slow.
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

// Bandwidths are bus bandwidths in bytes per second. A pair, rail or node that was measured several
// times stands here as often.
struct Evidence {
    struct Match {
        Pair pair;
        double bandwidth = 0;
        std::uint32_t round = 0;  // matches of one round were played at the same time
        double error = 0;         // standard error of its median, from its iterations; relative

        bool operator==(const Match&) const = default;
    };
    struct PairRail {
        Pair pair;
        std::uint32_t local_rank = 0;
        double bandwidth = 0;  // of the two nodes' GPUs with this local rank

        bool operator==(const PairRail&) const = default;
    };
    std::vector<Match> matches{};
    // By local rank, of all nodes' GPUs that have it; by node, of all its GPUs.
    std::map<std::uint32_t, std::vector<double>> rails{};
    std::map<std::uint32_t, std::vector<double>> alone{};
    std::vector<PairRail> pair_rails{};
    std::vector<std::string> leaves{};  // by node: the switch that it is on; empty: unknown
    std::optional<double> all_nodes{};  // together, with what the matches were measured with
};

// Of each kind of group only what was measured with the largest size counts, and of several
// collectives, types or placements at that size the first: bandwidths of different sizes are not
// comparable, and small sizes show the latency instead.
Evidence evidence_of(const Results& results);

// What can hold a run back.
struct Limiter {
    enum class Kind : std::uint8_t {
        node,
        node_rail,  // one rail of one node
        rail,       // a rail of all nodes; with two nodes it may be of one of them
        leaf,       // a switch: all that its nodes send
        uplink,     // of a switch: what leaves it
        spine,      // what goes from one switch to another
        paths,      // some pairs or matches, without a pattern: routes that collide
    };
    Kind kind = Kind::node;
    std::uint32_t node = 0;        // index into Results::nodes; of leaf and uplink: one node there
    std::uint32_t local_rank = 0;  // of node_rail and rail
    bool intermittent = false;     // in a share of the measurements only

    bool operator==(const Limiter&) const = default;
};

// One node alone.
inline bool is_of_a_node(const Limiter& limiter) {
    return limiter.kind == Limiter::Kind::node || limiter.kind == Limiter::Kind::node_rail;
}

struct Suspect {
    Limiter limiter;
    std::vector<std::uint32_t> matches;  // that it would slow: indices, ascending
    bool also_switch = false;            // of a node: it is alone on its switch
};

// The nodes come first, by number; only those with two partners or more, since with one a node
// would answer for that partner. Of suspects with the same matches there is one: with two
// switches, the uplink of either is the spine. Where switches are unknown, they are clusters
// of nodes that are fast among each other and slow between them, if there are such.
std::vector<Suspect> suspects_of(const Evidence& evidence);

}  // namespace distgpu::scaling
