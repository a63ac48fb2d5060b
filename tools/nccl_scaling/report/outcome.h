// How a run came out: what its last line says, what is slow, and how it compares with a baseline.
#pragma once

#include "analysis/blame.h"
#include "analysis/efficiency.h"
#include "report/judgement.h"
#include "results/results.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace distgpu::scaling {

// The bus bandwidth that all nodes should reach, and who says so.
struct ExpectedBandwidth {
    double busbw = 0;    // bytes per second
    std::string source;  // "--expect", "the baseline"

    bool operator==(const ExpectedBandwidth&) const = default;
};

// The bus bandwidth of all nodes: of the first collective, at the largest size, out of place where
// that was measured.
struct Headline {
    std::size_t measurement = 0;       // index into Results::measurements
    double busbw = 0;                  // bytes per second
    std::optional<double> efficiency;  // of the fewest nodes' busbw; nothing: they are all nodes
    std::uint32_t baseline_nodes = 0;
    std::optional<ExpectedBandwidth> expected;
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

struct Report {
    Results results;
    std::vector<EfficiencyCurve> efficiency{};
    std::vector<SlowPart> slow_parts{};   // the worst first
    std::vector<std::string> limiters{};  // by name; empty: nobody is
    std::optional<Headline> headline{};
    std::optional<Judgement> judgement{};  // nothing: no baseline, or the run has not ended
    std::string verdict{};                 // the run's last line; empty while it runs
};

// From what was measured to what is reported. A run that ended before its end gets no verdict and
// no judgement: what is missing might have changed them. `expect`: bytes per second.
Report report_of(const Results& results, std::optional<double> expect = {},
                 const Baseline* baseline = nullptr);

// The run came to its end.
inline bool is_complete(const Report& report) {
    return !report.results.failure && !report.verdict.empty();
}

// "8 nodes: all-reduce 352.1 GB/s at 4 GiB, 78% of 1 node; limiter: node17/mlx5_3". Several
// limiters are separated by ", ", at most 8 are named. "limiter: none" only where a tournament
// could have found one and nothing speaks against it, else "undecided, because ...", "cannot be
// determined with 2 nodes", or "not measured" where pairs were not.
std::string verdict_line(const Results& results, const Blame& blame,
                         const std::optional<Headline>& headline);

}  // namespace distgpu::scaling
