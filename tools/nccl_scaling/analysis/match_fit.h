// Fits slow nodes and slow links between switches to the matches of a tournament.
//
// A match runs at the rate of the slowest of what it uses: its expected rate, relative to the
// healthy one, is the lowest level of the faults that concern it, 1 where none does. The healthy
// rate is not the median of all matches, as most of them may be slow: several are tried, and the
// one whose faults explain the matches best is taken. What changes the rate of all matches through
// the run is divided out.
#pragma once

#include "analysis/evidence.h"
#include "analysis/fault_models.h"

#include <cstddef>
#include <vector>

namespace distgpu::scaling {

inline constexpr double least_effect = 0.07;  // what is less slow is not called slow

struct FittedFault {
    std::size_t model = 0;  // index into the models
    double level = 1;       // rate of its matches, relative to the healthy rate
    double deviations = 0;  // 1 - level in standard errors
};

struct MatchFit {
    double healthy = 0;            // bytes per second
    double noise = 0;              // standard deviation of a match, relative
    std::vector<double> relative;  // by match: its rate, to the healthy one
    std::vector<double> expected;  // by match, likewise
    std::vector<FittedFault> faults;
    double cost = 0;  // of what stays unexplained, and of the faults
};

// Standard error of the difference of two medians, of `count` and of `others` values.
double standard_error(double noise, std::size_t count, std::size_t others);

// In standard errors: how far off the lowest of so many candidates is once in 3,000 clusters.
double far_off(std::size_t candidates);

MatchFit fit_matches(const std::vector<Evidence::Match>& matches,
                     const std::vector<FaultModel>& models);

}  // namespace distgpu::scaling
