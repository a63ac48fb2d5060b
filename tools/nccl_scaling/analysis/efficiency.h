// How far from linear: communication efficiency from bus bandwidths, weak and strong scaling from
// the times of the same work on different numbers of nodes. 1 is linear.
#pragma once

#include "analysis/subject.h"
#include "results/results.h"

#include <tl/expected.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace distgpu::scaling {

// eta(n) = bus bandwidth with n ranks / bus bandwidth with n0 ranks, of the same subject.
struct CommunicationEfficiency {
    std::size_t measurement = 0;  // index into Results::measurements; its group has the n ranks
    double efficiency = 0;
};

// n0: the group of the fewest nodes that has two ranks or more. That is one full node; of nodes
// with one GPU each it is two nodes, as a single rank has no bus bandwidth.
// Nothing: there is no such group.
std::optional<std::size_t> communication_baseline(const Results& results);

// For each measurement of a group of nodes, its baseline's too (1), in their order; without those
// whose subject the baseline group did not measure.
std::vector<CommunicationEfficiency> communication_efficiency(const Results& results);

struct CommunicationCurve {
    Subject subject;
    std::vector<CommunicationEfficiency> points;
};

// Of each collective, type and operation the largest size, out of place where both placements were
// measured: smaller ones show the latency.
std::vector<CommunicationCurve> communication_curves(const Results& results);

enum class Scaling : std::uint8_t {
    weak,    // the same work for each node: E_w = T(N0) / T(N)
    strong,  // the same work for all nodes together: E_s = N0 T(N0) / (N T(N))
};

struct NodesTime {
    std::uint32_t nodes = 0;
    double seconds = 0;

    bool operator==(const NodesTime&) const = default;
};

struct ScalingPoint {
    std::uint32_t nodes = 0;
    double seconds = 0;
    double efficiency = 0;  // 1 of the fewest nodes; above 1: better than linear
};

// Why times cannot be compared.
struct UnusableTimes {
    enum class Reason : std::uint8_t {
        too_few,       // fewer than two
        no_nodes,      // a number of nodes is 0
        not_positive,  // a time is not a positive finite number
        twice,         // a number of nodes comes twice
    };
    Reason reason = Reason::too_few;
    std::size_t count = 0;  // of all times
    NodesTime time;         // the one at fault; of too_few: none

    bool operator==(const UnusableTimes&) const = default;
};

// By ascending number of nodes; N0 is the smallest.
tl::expected<std::vector<ScalingPoint>, UnusableTimes> scaling_efficiency(
    Scaling scaling, std::vector<NodesTime> times);

}  // namespace distgpu::scaling
