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

double quantile_of_sorted(std::span<const double> sorted, double p) {
    const double position = p * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const auto above = std::min(below + 1, sorted.size() - 1);
    return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

Statistics statistics_of(std::vector<double> seconds) {
    if (seconds.empty()) return {};
    std::ranges::sort(seconds);
    return {.median = quantile_of_sorted(seconds, 0.5),
            .min = seconds.front(),
            .p5 = quantile_of_sorted(seconds, 0.05),
            .p95 = quantile_of_sorted(seconds, 0.95),
            .p99 = quantile_of_sorted(seconds, 0.99),
            .cv = coefficient_of_variation(seconds),
            .iterations = static_cast<std::uint32_t>(seconds.size())};
}

double quantile(std::vector<double> values, double p) {
    std::ranges::sort(values);
    return quantile_of_sorted(values, p);
}

double median(std::vector<double> values) {
    return quantile(std::move(values), 0.5);
}

double robust_sigma(std::vector<double> abs_residuals) {
    return median(std::move(abs_residuals)) / 0.6745;
}

Result<Statistics> loop_statistics(const std::vector<std::vector<double>>& rank_end_times) {
    if (rank_end_times.empty()) return Statistics{};
    std::vector<double> seconds(rank_end_times.front().size());
    double loops = 0;
    for (const auto& ends : rank_end_times) {
        if (ends.size() != seconds.size()) {
            return Error{"the ranks of one loop", "sent different numbers of times", ""};
        }
        if (ends.empty()) continue;
        std::transform(seconds.begin(), seconds.end(), ends.begin(), seconds.begin(),
                       [](double a, double b) { return std::max(a, b); });
        loops += ends.back();
    }
    if (seconds.empty()) return Statistics{};
    const auto iterations = static_cast<double>(seconds.size());
    std::adjacent_difference(seconds.begin(), seconds.end(), seconds.begin());
    Statistics statistics = statistics_of(std::move(seconds));
    statistics.mean = loops / static_cast<double>(rank_end_times.size()) / iterations;
    return statistics;
}

}  // namespace distgpu::scaling
