// Holds a run against thresholds, which a person or an earlier run sets: each measurement for
// itself, never an average, in which one slow group or size would be lost.
#pragma once

#include "base/result.h"
#include "results.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace distgpu::scaling {

// What every measurement of this collective, size and number of ranks must reach, on a group of
// nodes or of GPUs of one node. Pairs, rails and the rest are held against each other instead.
struct Threshold {
    Collective collective = Collective::all_reduce;
    std::uint64_t bytes = 0;
    std::uint32_t ranks = 0;
    double bandwidth = 0;                // bus bandwidth at least, bytes per second
    std::optional<DataType> type{};      // nothing: any
    std::optional<bool> in_place{};      // nothing: both
    std::optional<Group::Kind> group{};  // nothing: of nodes and of GPUs

    bool operator==(const Threshold&) const = default;
};

struct Violation {
    std::size_t measurement = 0;  // index into Results::measurements
    double bandwidth = 0;         // what was reached
    Threshold threshold;
};

struct Comparison {
    std::vector<Violation> violations;  // failed
    std::vector<Threshold> waived;      // nothing was measured that they apply to: neither passed
                                        // nor failed
    std::size_t passed = 0;             // measurements that reached a threshold
};

Comparison compare(const Results& results, const std::vector<Threshold>& thresholds);

// The bus bandwidths of a run, less `tolerance` (0.05: 5 % of each).
std::vector<Threshold> thresholds_of(const Results& baseline, double tolerance);

// Against an earlier run. `baseline_name` is for messages: the file it came from.
// Errors: another back end; another fingerprint, naming the first difference; a tolerance outside
// 0 to 1.
Result<Comparison> compare_to_baseline(const Results& results, const Results& baseline,
                                       double tolerance, const std::string& baseline_name);

}  // namespace distgpu::scaling
