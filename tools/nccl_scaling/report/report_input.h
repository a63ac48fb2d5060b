// What the report prints: the results of a run, and what the analysis made of them.
#pragma once

#include "analysis/alpha_beta.h"
#include "analysis/limiter.h"
#include "analysis/training_step.h"
#include "report/headline.h"
#include "report/judgement.h"
#include "results/results.h"

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
    std::string subject;               // "all-reduce float, 64 MiB", the text of a step
    std::uint32_t baseline_nodes = 1;  // efficiency is 1 there
    std::vector<Point> points;         // by number of nodes, ascending

    bool operator==(const EfficiencyCurve&) const = default;
};

// What is slower than its peers.
struct SlowPart {
    std::string name;  // "node03", "node03/mlx5_3", "rail mlx5_3", "leaf s4", "node01 - node04"
    Limiter::Kind kind = Limiter::Kind::node;  // of a pair of nodes that are well: paths
    double relative = 0;                       // its rate over that of what is healthy
    std::optional<double> robust_z;       // how far off, in standard errors; nothing: not known
    std::optional<std::uint32_t> node{};  // the one to which it belongs alone

    bool operator==(const SlowPart&) const = default;
};

struct ReportInput {
    Results results;
    std::vector<EfficiencyCurve> efficiency;
    std::vector<LatencyBandwidthFit> fits;
    std::vector<SlowPart> slow_parts;   // the worst first
    std::vector<std::string> limiters;  // by name; empty: nobody is
    std::optional<Headline> headline;
    std::string step;     // what the model of a step says; empty: none was asked for
    Judgement judgement;  // of a run that came to its end
    std::string verdict;  // the run's last line; empty while it runs
};

// What its user says of the run.
struct Expectation {
    std::optional<ExpectedBandwidth> bandwidth;
    std::optional<TrainingStep> step;
};

// From what was measured to what is reported, but for the judgement. A run that ended before its
// end gets no verdict: what is missing might have changed it.
ReportInput derive(const Results& results, const Expectation& expectation = {});

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
