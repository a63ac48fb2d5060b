// Finds the limiters: the parts that hold a run back.
//
// A match of two nodes runs at the rate of the slowest part that it uses, so a slow match may be
// due to either node or to the network between them. The median of a suspect's matches is compared
// with the rate of the matches that no suspect slows, with a robust standard deviation. A suspect
// is not named if chance could explain it; if several suspects explain the same matches, that is a
// doubt.
//
// A rail is the GPUs with one local rank on all nodes, and the HCA ports near them. NCCL divides
// the data evenly among the ports, so the slowest port of a node sets the rate of all its matches.
#pragma once

#include "analysis/suspects.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace distgpu::scaling {

struct Finding {
    Limiter limiter;
    double relative_rate = 0;  // relative to the healthy rate
    double z_score = 0;        // standard errors below the healthy rate; 0 if unknown

    bool operator==(const Finding&) const = default;
};

struct PairRate {
    Pair pair;
    double relative_rate = 0;  // median of its matches, relative to the healthy rate
    // Its matches are slow, but neither node nor a switch is: the network routes them over a link
    // that other traffic uses as well.
    bool collides = false;
};

// Why no limiter is named although something is slow.
struct Doubt {
    enum class Kind : std::uint8_t {
        none,
        alone_on_switch,  // either the node (`nodes`) or its switch, which has no other node
        common_cause,     // `nodes` are equally slow: different hardware or a common cause
        noise,            // too large to tell `relative_rate` from 1
        all_nodes_slow,   // all nodes together reach `relative_rate` of what two of them do
    };
    Kind kind = Kind::none;
    std::vector<std::uint32_t> nodes;
    double relative_rate = 0;

    bool operator==(const Doubt&) const = default;
};

struct LimiterAnalysis {
    // Three nodes have at least two partners each. With two nodes, either could be the slow one.
    bool is_decidable = false;
    std::vector<Finding>
        findings;  // sorted by kind, node and rail; empty if no part is slower than its peers
    Doubt doubt;
    std::vector<PairRate> pairs;  // sorted by pair
};

LimiterAnalysis find_limiters(const Evidence& evidence);

// The named nodes, the slowest first, at most half of all nodes.
std::vector<std::uint32_t> nodes_to_retest(const LimiterAnalysis& analysis, std::uint32_t nodes);

}  // namespace distgpu::scaling
