// The outcome of a run: its verdict, the slow parts, and the comparison with a baseline.
#pragma once

#include "analysis/efficiency.h"
#include "analysis/limiters.h"
#include "report/comparison.h"
#include "results/results.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace distgpu::scaling {

// The bus bandwidth that all nodes should reach, and where that number comes from.
struct ExpectedBandwidth {
    double busbw = 0;    // bytes per second
    std::string source;  // "--expect", "the baseline"

    bool operator==(const ExpectedBandwidth&) const = default;
};

// The bus bandwidth of all nodes: of the first collective, at the largest size, out of place if
// that was measured.
struct Headline {
    std::size_t measurement = 0;       // index into Results::measurements
    double busbw = 0;                  // bytes per second
    std::optional<double> efficiency;  // of the fewest nodes' busbw; nullopt if these are all
    std::uint32_t baseline_nodes = 0;
    std::optional<ExpectedBandwidth> expected;
};

// A part that is slower than its peers.
struct SlowPart {
    std::string name;  // "node03", "node03/mlx5_3", "rail mlx5_3", "leaf s4", "node01 - node04"
    Limiter::Kind kind = Limiter::Kind::node;  // paths for a pair of healthy nodes
    double relative_rate = 0;                  // relative to the healthy rate
    std::optional<double> robust_z;  // distance in standard errors, negative; nullopt if unknown
    std::optional<std::uint32_t> node{};  // if it belongs to one node only

    bool operator==(const SlowPart&) const = default;
};

struct Report {
    Results results;
    std::vector<EfficiencyCurve> efficiency{};
    std::vector<SlowPart> slow_parts{};   // slowest first
    std::vector<std::string> limiters{};  // names
    std::optional<Headline> headline{};
    std::optional<Comparison> comparison{};  // nullopt without baseline, or if incomplete
    std::string verdict{};                   // the run's last line; empty if the run is incomplete
};

// Derives the report from the results. A run that ended early gets no verdict and no comparison,
// because the missing measurements could change them. `expected_busbw`: bytes per second.
Report make_report(const Results& results, std::optional<double> expected_busbw = {},
                   const Baseline* baseline = nullptr);

// True if the run did not end early.
inline bool is_complete(const Report& report) {
    return !report.results.failure && !report.verdict.empty();
}

// "8 nodes: all-reduce 352.1 GB/s at 4 GiB, 78% of 1 node; limiter: node17/mlx5_3". Several
// limiters are separated by ", ", and at most 8 are named. "limiter: none" only if the tournament
// could have found one and there is no doubt, otherwise "undecided, because ...", "cannot be
// determined with 2 nodes", or "not measured" without pairs.
std::string verdict_line(const Results& results, const LimiterAnalysis& analysis,
                         const std::optional<Headline>& headline);

}  // namespace distgpu::scaling
