// Order statistics.
#include "analysis/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

namespace distgpu::scaling {

namespace {

// Standard deviation over mean.
double coefficient_of_variation(std::span<const double> values) {
    if (values.size() < 2) return 0;
    const auto count = static_cast<double>(values.size());
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
    const double squares = std::accumulate(
        values.begin(), values.end(), 0.0,
        [&](double sum, double value) { return sum + (value - mean) * (value - mean); });
    return std::sqrt(squares / (count - 1)) / mean;
}

}  // namespace

double percentile(std::span<const double> sorted, double share) {
    const double position = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const auto above = std::min(below + 1, sorted.size() - 1);
    return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

Statistics statistics_of(std::vector<double> seconds) {
    if (seconds.empty()) return {};
    std::sort(seconds.begin(), seconds.end());
    return {.median = percentile(seconds, 0.5),
            .min = seconds.front(),
            .p5 = percentile(seconds, 0.05),
            .p95 = percentile(seconds, 0.95),
            .p99 = percentile(seconds, 0.99),
            .cv = coefficient_of_variation(seconds),
            .iterations = static_cast<std::uint32_t>(seconds.size())};
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return percentile(values, 0.5);
}

double deviation_of(std::vector<double> distances) {
    return median(std::move(distances)) / 0.6745;
}

double upper_median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

}  // namespace distgpu::scaling
