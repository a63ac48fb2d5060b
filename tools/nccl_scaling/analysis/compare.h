// Holds a run against thresholds, which a person or an earlier run sets: each measurement for
// itself, never an average, in which one slow group or size would be lost.
#pragma once

#include "results/results.h"

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
    std::optional<Op> op{};              // nothing: any

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

// A measurement that two runs have.
struct Change {
    std::size_t measurement = 0;  // index into the later run's
    double before = 0;            // bus bandwidths
    double after = 0;
};

// Of the groups that have thresholds, in the order of `before`.
std::vector<Change> changes(const Results& before, const Results& after);

// What keeps two fingerprints from being equal. Nothing instead of a value: it is missing.
struct Difference {
    std::string name;
    std::optional<std::string> here;
    std::optional<std::string> there;

    bool operator==(const Difference&) const = default;
};

// By name, those of `here` before those that only `there` has. Empty: equal.
std::vector<Difference> differences(const Fingerprint& here, const Fingerprint& there);

// Also of the back ends, which come first.
std::vector<Difference> differences(const Results& results, const Results& baseline);

}  // namespace distgpu::scaling
