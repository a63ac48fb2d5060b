// The latency-bandwidth model of a collective's time: t = alpha + S f / beta, with S the buffer's
// bytes and f the bus factor of the number of ranks.
#pragma once

#include "analysis/subject.h"
#include "results/results.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace distgpu::scaling {

struct AlphaBeta {
    double alpha = 0;  // seconds, at least 0
    double beta = 0;   // bytes per second: the bus bandwidth of large buffers
    // Relative root mean square of (fit - t) / t: 0.1 is 10 %. NCCL changes its protocol with the
    // size (LL, LL128, Simple), so one line never fits all sizes well; this says how badly.
    double residual = 0;

    bool operator==(const AlphaBeta&) const = default;
};

struct CarriedTime {
    double bytes = 0;    // S f
    double seconds = 0;  // > 0
};

// Least squares of the relative errors: sizes span many powers of two, and of absolute errors the
// largest size alone would decide. Nothing: fewer than two sizes, or a time that does not grow.
std::optional<AlphaBeta> fit_alpha_beta(std::span<const CarriedTime> times);

// Of what one group measured of the subject in any size. Nothing: as above, or a group of one rank.
std::optional<AlphaBeta> fit_alpha_beta(const Results& results, std::size_t group,
                                        const Subject& subject);

struct LatencyBandwidthFit {
    std::size_t group = 0;  // index into Results::groups
    Collective collective = Collective::all_reduce;
    DataType type = DataType::f32;
    AlphaBeta line;
    Op op = Op::sum;

    bool operator==(const LatencyBandwidthFit&) const = default;
};

// One for each group, collective, type and operation that has one out of place.
std::vector<LatencyBandwidthFit> latency_bandwidth_fits(const Results& results);

}  // namespace distgpu::scaling
