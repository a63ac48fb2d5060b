// Which suspects are slow throughout a run: what blame() names begins with them.
#pragma once

#include "analysis/suspects.h"

#include <cstddef>
#include <vector>

namespace distgpu::scaling {

// How far below its peers something is, and by how much a match differs from the next, is measured
// by the natural logarithm of its relative rate: 0.07 is 7 % slower. Where the noise is a factor of
// two, as on a machine with too few CPUs, a node at a tenth is still far off (2.3); as a share of
// the rate nothing could be further below 1 than 1.
double effect_of(double relative);

inline constexpr double least_effect = 0.07;  // what is less slow is not called slow

// Standard error of the difference of two medians, of `count` and of `others` values.
double standard_error(double sigma, std::size_t count, std::size_t others);

// The bound of chance, in standard errors: the lowest of so many healthy suspects is further off
// once in 10,000 clusters.
double bound(std::size_t suspects);

struct Fault {
    std::size_t suspect = 0;
    double level = 1;       // median of its matches, relative to the healthy rate
    double deviations = 0;  // effect_of(level) in standard errors
    double share = 1;       // of its matches that are low
};

// Suspects whose matches are low throughout: a match is expected at the lowest level of those that
// concern it, at 1 where none does.
struct Fit {
    double healthy = 0;            // bytes per second
    double sigma = 0.05;           // of a match, as an effect; 0: there are no matches
    std::vector<double> relative;  // by match: its rate, to the healthy one
    std::vector<double> expected;  // by match, likewise
    std::vector<Fault> faults;

    bool is_free(std::size_t match) const { return expected[match] == 1; }
};

// What changed through the run for the whole cluster alike is taken out first.
Fit fit_matches(const std::vector<Evidence::Match>& matches, const std::vector<Suspect>& suspects);

}  // namespace distgpu::scaling
