// Fits the matches by a healthy rate and faults: suspects that are slow throughout the run.
// find_limiters() starts from these.
#pragma once

#include "analysis/suspects.h"

#include <cstddef>
#include <vector>

namespace distgpu::scaling {

// Negative natural logarithm of a relative rate: 0.07 is 7 % slower. Slowdowns and noise are
// measured with it because, unlike the rate itself, it is not bounded on the slow side: with noise
// of a factor of two, as on a machine with too few CPUs, a node at a tenth of the rate still stands
// out (2.3).
double log_slowdown(double relative_rate);

inline constexpr double min_log_slowdown = 0.07;  // a smaller slowdown is not reported

// Standard error of the difference of two medians, of `count` and `other_count` values.
double standard_error(double sigma, std::size_t count, std::size_t other_count);

// Critical value in standard errors: the lowest of this many healthy suspects exceeds it by chance
// in one of 10,000 clusters.
double critical_z(std::size_t suspects);

struct Fault {
    std::size_t suspect = 0;
    double level = 1;      // median of its matches, relative to the healthy rate
    double z_score = 0;    // log_slowdown(level) in standard errors
    double low_share = 1;  // fraction of its matches that are low
};

// The expected rate of a match is the lowest level of the faults that slow it, or 1 without faults.
struct Fit {
    double healthy_rate = 0;             // bytes per second
    double sigma = 0.05;                 // of a match, as a log slowdown; 0 without matches
    std::vector<double> relative_rates;  // by match, relative to the healthy rate
    std::vector<double> expected_rates;  // by match, likewise
    std::vector<Fault> faults;

    bool is_unaffected(std::size_t match) const { return expected_rates[match] == 1; }
};

// A drift that affects the whole cluster during the run is removed first.
Fit fit_matches(const std::vector<Evidence::Match>& matches, const std::vector<Suspect>& suspects);

}  // namespace distgpu::scaling
