// What holds the run back.
//
// A match of two nodes runs at the rate of the slowest of what it uses, so one slow match accuses
// both nodes and what is between them. Each suspect is judged by the median of its matches, held
// against the rate of those that no suspect explains, with a robust standard deviation. What is
// below the bound of chance is not named; what several suspects explain alike is a doubt.
//
// A rail is the GPUs with one local rank, of all nodes, with the ports near them. NCCL divides the
// data evenly among the ports, so the slowest port of a node sets the rate of all its matches.
#pragma once

#include "analysis/suspects.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace distgpu::scaling {

struct Finding {
    Limiter limiter;
    double relative = 0;    // its rate, to that of what is healthy
    double deviations = 0;  // how far below, in standard errors; 0: not known

    bool operator==(const Finding&) const = default;
};

struct PairScore {
    Pair pair;
    double relative = 0;  // median of its matches, to the healthy rate
    // Low, which neither of the nodes nor a switch explains: the two share a link with other
    // traffic, by the routes that the network chose.
    bool collision = false;
};

// Why nobody is named although something is slow.
struct Doubt {
    enum class Kind : std::uint8_t {
        none,
        alone_on_switch,  // `nodes`: the node, or the switch on which it is alone
        alike,            // `nodes` are slower by the same share: by design, or by a common cause
        noise,      // the same matches differ so much that `relative` could not be told from 1
        all_nodes,  // all nodes together reach `relative` of what two of them do
    };
    Kind kind = Kind::none;
    std::vector<std::uint32_t> nodes;
    double relative = 0;

    bool operator==(const Doubt&) const = default;
};

struct Blame {
    // At least three nodes have two partners each. Two nodes alone accuse each other.
    bool decidable = false;
    std::vector<Finding>
        findings;  // by kind, node and rail; empty: nobody is slower than its peers
    Doubt doubt;
    std::vector<PairScore> pairs;  // by pair
};

Blame blame(const Evidence& evidence);

// The nodes that are named, the slowest first; of more than half of all nodes so many.
std::vector<std::uint32_t> nodes_to_retest(const Blame& blame, std::uint32_t nodes);

}  // namespace distgpu::scaling
