// Order statistics of measured values.
#pragma once

#include "results/results.h"

#include <span>
#include <vector>

namespace distgpu::scaling {

// The value below which `share` (0 to 1) of the values lie, interpolated linearly between the two
// nearest, as numpy's default: with the 20 or so iterations of a measurement a nearest rank would
// make p95 and p99 the maximum, and the median of an even number one of two values by convention.
// Precondition: `sorted` is ascending and not empty.
double percentile(std::span<const double> sorted, double share);

// Of the iterations' seconds. cv has the sample's standard deviation (n - 1), and is 0 of one
// iteration. Of none: all 0.
Statistics statistics_of(std::vector<double> seconds);

// Precondition of all three: not empty.
double median(std::vector<double> values);
// Of values that are normally distributed around 0, by their distances from it: the standard
// deviation that half of them are within 0.6745 of, which a few outliers do not move.
double deviation_of(std::vector<double> distances);
// The larger of the two middle values where their number is even, never a mean of both.
double upper_median(std::vector<double> values);

}  // namespace distgpu::scaling
