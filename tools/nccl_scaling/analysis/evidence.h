// What the search for a slow node goes by, taken from a run's measurements.
#pragma once

#include "analysis/pairs.h"
#include "results.h"

#include <cstdint>
#include <vector>

namespace distgpu::scaling {

// Bandwidths are bus bandwidths in bytes per second. A pair or rail that was measured several
// times stands here as often.
struct Evidence {
    struct Match {
        Pair pair;
        double bandwidth = 0;
    };
    struct Rail {
        std::uint32_t local_rank = 0;
        double bandwidth = 0;  // of all nodes' GPUs with this local rank
    };
    std::vector<Match> matches;
    std::uint64_t match_bytes = 0;  // the size that they were measured with
    std::vector<Rail> rails;
};

// From the groups of pairs and rails. Of each kind only what was measured with
// the largest size counts, and of several collectives, types or placements at that size the first:
// bandwidths of different sizes are not comparable, and small sizes show the latency instead.
Evidence evidence_of(const Results& results);

}  // namespace distgpu::scaling
