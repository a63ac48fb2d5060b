// Finds what is slow in a share of its matches only: now and then, or in a part of the run.
#pragma once

#include "analysis/match_fit.h"

#include <cstdint>
#include <vector>

namespace distgpu::scaling {

struct Intermittent {
    std::size_t model = 0;  // index into the models
    double share = 0;       // of its matches that are low
    double level = 1;       // their median
};

struct LowMatches {
    std::vector<Intermittent> faults;
    std::vector<std::uint32_t> unexplained;  // low matches of nobody: by index
};

// Of the matches that no fault of the fit explains. A node or link is intermittent if its matches
// are low far more often than the others; a pair that is always low, or always well, speaks of a
// path and no more for a node than one match does.
LowMatches low_matches(const std::vector<Evidence::Match>& matches,
                       const std::vector<FaultModel>& models, const MatchFit& fit);

}  // namespace distgpu::scaling
