// Weighted linear least squares with an intercept that is not negative.
#include "analysis/alpha_beta.h"

#include "analysis/bus_bandwidth.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace distgpu::scaling {

namespace {

struct Line {
    double intercept = 0;
    double slope = 0;
};

// Sums over the times t at x bytes, with the weight 1/t^2.
struct Sums {
    double w = 0;
    double wx = 0;
    double wxx = 0;
    double wt = 0;
    double wxt = 0;

    explicit Sums(std::span<const CarriedTime> times) {
        for (const auto& [x, t] : times) {
            const double weight = 1 / (t * t);
            w += weight;
            wx += weight * x;
            wxx += weight * x * x;
            wt += weight * t;
            wxt += weight * x * t;
        }
    }
};

// The normal equations. Of a negative intercept, which no latency is: the best line through 0.
Line best_line(const Sums& sums) {
    const double slope =
        (sums.w * sums.wxt - sums.wx * sums.wt) / (sums.w * sums.wxx - sums.wx * sums.wx);
    const double intercept = (sums.wt - slope * sums.wx) / sums.w;
    if (intercept >= 0) return {.intercept = intercept, .slope = slope};
    return {.intercept = 0, .slope = sums.wxt / sums.wxx};
}

bool has_two_sizes(std::span<const CarriedTime> times) {
    return std::any_of(times.begin(), times.end(),
                       [&](const CarriedTime& time) { return time.bytes != times.front().bytes; });
}

}  // namespace

std::optional<AlphaBeta> fit_alpha_beta(std::span<const CarriedTime> times) {
    if (!has_two_sizes(times)) return std::nullopt;
    const auto line = best_line(Sums(times));
    if (line.slope <= 0) return std::nullopt;
    double squares = 0;
    for (const auto& [bytes, seconds] : times) {
        const double relative = (line.intercept + line.slope * bytes) / seconds - 1;
        squares += relative * relative;
    }
    return AlphaBeta{.alpha = line.intercept,
                     .beta = 1 / line.slope,
                     .residual = std::sqrt(squares / static_cast<double>(times.size()))};
}

std::optional<AlphaBeta> fit_alpha_beta(const Results& results, std::size_t group,
                                        const Subject& subject) {
    const auto factor = bus_factor(subject.collective, results.groups[group].ranks);
    if (!factor) return std::nullopt;
    std::vector<CarriedTime> times;
    times.reserve(results.measurements.size());
    for (const auto& measurement : results.measurements) {
        if (measurement.group != group || !differ_only_in_size(subject_of(measurement), subject) ||
            measurement.time.median <= 0) {
            continue;
        }
        times.push_back({.bytes = *factor * static_cast<double>(measurement.bytes),
                         .seconds = measurement.time.median});
    }
    return fit_alpha_beta(times);
}

std::vector<LatencyBandwidthFit> latency_bandwidth_fits(const Results& results) {
    std::vector<LatencyBandwidthFit> fits;
    for (std::size_t i = 0; i < results.measurements.size(); ++i) {
        const Measurement& m = results.measurements[i];
        const Subject subject = subject_of(m);
        const bool is_first_size =
            i == 0 || results.measurements[i - 1].group != m.group ||
            !differ_only_in_size(subject_of(results.measurements[i - 1]), subject);
        if (!is_first_size || m.in_place) continue;
        if (auto line = fit_alpha_beta(results, m.group, subject)) {
            fits.push_back({m.group, m.collective, m.type, *line, m.op});
        }
    }
    return fits;
}

}  // namespace distgpu::scaling
