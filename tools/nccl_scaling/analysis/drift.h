// How the rate of the whole cluster changed through the run, whatever else is wrong.
#pragma once

#include "analysis/match_fit.h"

#include <vector>

namespace distgpu::scaling {

// By match: how fast all were then, 1 in the middle. Empty: as fast as ever, or too few matches to
// tell. From what the faults of the fit leave unexplained.
std::vector<double> drift_of(const std::vector<Evidence::Match>& matches, const MatchFit& fit);

}  // namespace distgpu::scaling
