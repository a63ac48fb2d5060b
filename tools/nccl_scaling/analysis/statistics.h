// Order statistics of measured values.
#pragma once

#include "base/result.h"
#include "results/results.h"

#include <span>
#include <vector>

namespace distgpu::scaling {

// The quantile of order `p` (0 to 1), interpolated linearly between the two nearest values, as
// numpy does by default. With the 20 or so iterations of a measurement, the nearest-rank method
// would make p95 and p99 the maximum. Precondition: `sorted` is ascending and not empty.
double quantile_of_sorted(std::span<const double> sorted, double p);

// The same for values in any order. Precondition: not empty.
double quantile(std::vector<double> values, double p);

// Precondition: not empty.
double median(std::vector<double> values);

// Standard error of the median relative to that of the mean, for normally distributed values:
// sqrt(pi / 2).
inline constexpr double median_error_factor = 1.2533;

// The standard deviation of normally distributed residuals, from their absolute values: half of
// them are within 0.6745 of it (the median absolute deviation), which a few outliers do not move.
// Precondition: not empty.
double robust_sigma(std::vector<double> abs_residuals);

// `seconds`: of the iterations. cv uses the sample standard deviation (n - 1), and is 0 for a
// single iteration. Without iterations everything is 0.
Statistics statistics_of(std::vector<double> seconds);

// Statistics of a timed loop of collectives. `rank_end_times`: for each rank, the seconds from the
// start of the loop, the same moment on all ranks, to the end of each iteration. An iteration lasts
// from the moment when all ranks finished the previous one to the moment when all finished it, so
// that a delay of one rank counts only once. The mean is computed as in nccl-tests: each rank's
// loop time divided by the number of iterations, averaged over the ranks. Without ranks everything
// is 0. Error: the ranks have different numbers of iterations.
Result<Statistics> loop_statistics(const std::vector<std::vector<double>>& rank_end_times);

}  // namespace distgpu::scaling
