// How far from linear: communication efficiency from bus bandwidths, weak and strong scaling from
// the times of the same work on different numbers of nodes. 1 is linear.
#pragma once

#include "base/result.h"
#include "results/results.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace distgpu::scaling {

// The group that efficiency is held against: of the fewest nodes that have two ranks or more. That
// is one full node; of nodes with one GPU each it is two nodes, as a single rank has no bus
// bandwidth. Nothing: there is no such group.
std::optional<std::size_t> communication_baseline(const Results& results);

// Bus bandwidth over that of the baseline for the same subject. Nothing: the measurement is not of
// a group of nodes, or the baseline did not measure it.
std::optional<double> communication_efficiency(const Results& results,
                                               const Measurement& measurement);

// E(N) of one subject, by number of nodes.
struct EfficiencyCurve {
    struct Point {
        std::uint32_t nodes = 0;
        double efficiency = 0;  // 1: linear

        bool operator==(const Point&) const = default;
    };
    Subject subject;
    std::uint32_t baseline_nodes = 1;  // efficiency is 1 there
    std::vector<Point> points;

    bool operator==(const EfficiencyCurve&) const = default;
};

// Of each collective and type the largest size, out of place where both placements were measured:
// smaller ones show the latency.
std::vector<EfficiencyCurve> efficiency_curves(const Results& results);

// What a user measured: the seconds of a training on some nodes.
struct NodesTime {
    std::uint32_t nodes = 0;
    double seconds = 0;

    bool operator==(const NodesTime&) const = default;
};

// The same times read both ways; which of the two applies the user knows.
struct ScalingPoint {
    std::uint32_t nodes = 0;
    double seconds = 0;
    double weak = 0;    // each node had the same work in every run: T(N0) / T(N)
    double strong = 0;  // all nodes together had the same work: N0 T(N0) / (N T(N))
};

// By ascending number of nodes; N0 is the smallest. Errors: fewer than two times, 0 nodes, a time
// that is no positive number, a number of nodes that comes twice.
Result<std::vector<ScalingPoint>> scaling_efficiency(std::vector<NodesTime> times);

}  // namespace distgpu::scaling
