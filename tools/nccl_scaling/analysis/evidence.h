// What the search for a limiter goes by, taken from a run's measurements.
#pragma once

#include "analysis/pairs.h"
#include "results/results.h"

#include <cstdint>
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
    };
    struct Rail {
        std::uint32_t local_rank = 0;
        double bandwidth = 0;  // of all nodes' GPUs with this local rank
    };
    struct Alone {
        std::uint32_t node = 0;
        double bandwidth = 0;  // of all GPUs of this node
    };
    struct PairRail {
        Pair pair;
        std::uint32_t local_rank = 0;
        double bandwidth = 0;  // of the two nodes' GPUs with this local rank
    };
    std::vector<Match> matches{};
    std::vector<Rail> rails{};
    std::vector<Alone> alone{};
    std::vector<PairRail> pair_rails{};
    std::vector<std::string> leaves{};  // by node: the switch that it is on; empty: unknown
    std::optional<double> all_nodes{};  // together, with what the matches were measured with
};

// From the groups of pairs, of rails, of single nodes and of pairs' rails. Of each kind only what
// was measured with the largest size counts, and of several collectives, types or placements at
// that size the first: bandwidths of different sizes are not comparable, and small sizes show the
// latency instead.
Evidence evidence_of(const Results& results);

}  // namespace distgpu::scaling
