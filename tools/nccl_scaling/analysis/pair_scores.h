// How fast each pair of nodes is, and which of them collide.
#pragma once

#include "analysis/blame.h"
#include "analysis/match_fit.h"

#include <cstdint>
#include <vector>

namespace distgpu::scaling {

// By pair. `unexplained`: matches that are low and nobody's fault.
std::vector<PairScore> pair_scores(const std::vector<Evidence::Match>& matches, const MatchFit& fit,
                                   const std::vector<std::uint32_t>& unexplained);

// A match or two may be disturbed in any run; paths that collide are low again and again.
bool paths_collide(const std::vector<std::uint32_t>& unexplained,
                   const std::vector<PairScore>& pairs);

}  // namespace distgpu::scaling
