// Scaling efficiency: communication efficiency from bus bandwidths, weak and strong scaling from
// training times on different numbers of nodes. 1 is linear.
#pragma once

#include "base/result.h"
#include "results/results.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace distgpu::scaling {

// The group that efficiency is relative to: the one of fewest nodes that has at least two ranks.
// That is one full node, or two nodes if each has one GPU, because a single rank has no bus
// bandwidth. nullopt if there is no such group.
std::optional<std::size_t> communication_baseline(const Results& results);

// Bus bandwidth relative to the baseline's for the same operation. nullopt if the measurement is
// not of a group of nodes, or the baseline lacks it.
std::optional<double> communication_efficiency(const Results& results,
                                               const Measurement& measurement);

// E(N) of one operation, by number of nodes.
struct EfficiencyCurve {
    struct Point {
        std::uint32_t nodes = 0;
        double efficiency = 0;  // 1: linear

        bool operator==(const Point&) const = default;
    };
    Operation operation;
    std::uint32_t baseline_nodes = 1;  // efficiency is 1 there
    std::vector<Point> points;

    bool operator==(const EfficiencyCurve&) const = default;
};

// One curve for each collective and type, at the largest size because smaller ones show latency;
// out of place if both placements were measured.
std::vector<EfficiencyCurve> efficiency_curves(const Results& results);

// A user's own training time on a number of nodes.
struct TrainingTime {
    std::uint32_t nodes = 0;
    double seconds = 0;

    bool operator==(const TrainingTime&) const = default;
};

// A time read as weak and as strong scaling; only the user knows which applies.
struct ScalingPoint {
    std::uint32_t nodes = 0;
    double seconds = 0;
    double weak = 0;    // each node had the same work in every run: T(N0) / T(N)
    double strong = 0;  // all nodes together had the same work: N0 T(N0) / (N T(N))
};

// By ascending number of nodes; N0 is the smallest. Errors: fewer than two times, 0 nodes, a time
// that is not a positive number, the same number of nodes twice.
Result<std::vector<ScalingPoint>> scaling_efficiency(std::vector<TrainingTime> times);

}  // namespace distgpu::scaling
