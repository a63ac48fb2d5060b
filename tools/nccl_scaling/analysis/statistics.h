// Order statistics of measured values.
#pragma once

#include "base/result.h"
#include "results/results.h"

#include <span>
#include <vector>

namespace distgpu::scaling {

// The value below which `share` (0 to 1) of the values lie, interpolated linearly between the two
// nearest, as numpy's default: with the 20 or so iterations of a measurement a nearest rank would
// make p95 and p99 the maximum, and the median of an even number one of two values by convention.
// Precondition: `sorted` is ascending and not empty.
double percentile(std::span<const double> sorted, double share);

// The same of values in any order. Precondition: not empty.
double percentile_of(std::vector<double> values, double share);

// Precondition: not empty.
double median(std::vector<double> values);

// The standard error of a median, in that of a mean: sqrt(pi / 2), of normally distributed values.
inline constexpr double error_of_median = 1.2533;

// The standard deviation of normally distributed residuals, from their absolute values: half of
// them are within 0.6745 of it (the median absolute deviation), which a few outliers do not move.
// Precondition: not empty.
double robust_sigma(std::vector<double> abs_residuals);

// Of the iterations' seconds. cv has the sample's standard deviation (n - 1), and is 0 of one
// iteration. Of none: all 0.
Statistics statistics_of(std::vector<double> seconds);

// The times of a loop of collectives. Of each rank, the seconds from the loop's begin, which is the
// same moment on all, to the end of each iteration. An iteration lasts from when all ranks are done
// with the one before to when all are done with it: the slowest rank's time, without that a rank
// which was late before, and so has less left to do, counts twice. The mean is nccl-tests': each
// rank's loop divided by the number of iterations, averaged over the ranks. Of no rank: all 0.
// Error: not all have as many.
Result<Statistics> loop_statistics(const std::vector<std::vector<double>>& ends_of_ranks);

}  // namespace distgpu::scaling
