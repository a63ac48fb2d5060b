// What the report prints: the results of a run, and what the analysis made of them.
#pragma once

#include "report/judgement.h"
#include "results.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace distgpu::scaling {

// How far from linear, by number of nodes.
struct EfficiencyCurve {
    enum class Kind : std::uint8_t {
        communication,  // bus bandwidth over the baseline's
        weak,           // the same work for each GPU
        strong,         // the same work for all GPUs together
    };
    struct Point {
        std::uint32_t nodes = 0;
        double efficiency = 0;  // 1: linear

        bool operator==(const Point&) const = default;
    };
    Kind kind = Kind::weak;
    std::string subject;               // "all-reduce float, 64 MiB", "ResNet-50", "given times"
    std::uint32_t baseline_nodes = 1;  // efficiency is 1 there
    std::vector<Point> points;         // by number of nodes, ascending

    bool operator==(const EfficiencyCurve&) const = default;
};

// t = alpha + f bytes / beta of one group, collective and type, over the sizes.
struct LatencyBandwidthFit {
    std::size_t group = 0;  // index into Results::groups
    Collective collective = Collective::all_reduce;
    DataType type = DataType::f32;
    double alpha = 0;     // seconds
    double beta = 0;      // bytes per second
    double residual = 0;  // relative root mean square: 0.1 is 10 %

    bool operator==(const LatencyBandwidthFit&) const = default;
};

// A node, rail or pair that is slower than its peers.
struct Finding {
    std::string subject;             // "node03/mlx5_3", "node01 - node04"
    std::string kind;                // "slow node", "slow rail", "routing collision"
    double relative = 0;             // its score over the median of its peers
    std::optional<double> robust_z;  // nothing: not defined, as where all peers are equal

    bool operator==(const Finding&) const = default;
};

struct ReportInput {
    Results results;
    std::vector<EfficiencyCurve> efficiency;
    std::vector<LatencyBandwidthFit> fits;
    std::vector<Finding> findings;  // the worst first
    Judgement judgement;            // of a run that came to its end
    std::string verdict;            // the run's last line; empty while it runs
};

inline std::uint64_t total_ranks(const Results& results) {
    std::uint64_t total = 0;
    for (const Node& node : results.nodes) total += node.ranks;
    return total;
}

// The run came to its end.
inline bool is_complete(const ReportInput& input) {
    return !input.results.failure && !input.verdict.empty();
}

}  // namespace distgpu::scaling
