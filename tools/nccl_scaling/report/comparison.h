// Compares a run with an earlier one: each measurement separately, because an average would hide
// one slow group or size.
#pragma once

#include "base/result.h"
#include "results/results.h"

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu::scaling {

// An earlier run with which this one is compared.
struct Baseline {
    std::string file;
    Results results;
    double tolerance = 0.05;  // fraction by which a bus bandwidth may be lower
};

// A measurement that both runs have.
struct Change {
    std::size_t measurement = 0;  // index in the later run
    double before = 0;            // bus bandwidths
    double after = 0;

    bool operator==(const Change&) const = default;
};

// Only of the scaling groups (first GPUs, first nodes), in the order of the baseline. Pairs, rails
// and other groups are compared within a run instead.
struct Comparison {
    std::string file;
    double tolerance = 0;
    std::vector<std::string> differences{};  // "NCCL is '2.29.2' there, '2.30.7' here"
    std::vector<Change> changes{};           // measurements that both have
    std::vector<Change> failed{};            // the ones that are too slow
    std::vector<std::string> unmeasured{};   // "all-reduce float, 1 GiB, 16 ranks"

    std::size_t passed_count() const { return changes.size() - failed.size(); }

    // check_failed if a measurement is too slow; skipped if the runs have none in common.
    ExitCode exit_code() const;
};

Comparison compare_runs(const Results& results, const Baseline& baseline);

// For the terminal, in lines that begin with '#': differences of the fingerprints, failures,
// missing measurements, and the counts.
std::string comparison_text(const Results& results, const Comparison& comparison);

// Two files written by --json, perhaps with different libraries or drivers.
struct Diff {
    std::string before;
    std::string after;
    double tolerance = 0.05;  // fraction by which a bus bandwidth may be lower in the second
};

// Prints the differences of the fingerprints, each bus bandwidth that both runs have, and what is
// slower, which makes the result check_failed. Errors: a run cannot be read; no common measurement.
Result<ExitCode> print_diff(const Diff& diff, std::FILE* out);

// The differences between two fingerprints: "NCCL is '2.29.2' there, '2.30.7' here", where `there`
// is the text for "there". Entries of `here` come before those that only `other` has.
std::vector<std::string> fingerprint_differences(const Fingerprint& here, const Fingerprint& other,
                                                 std::string_view there);

}  // namespace distgpu::scaling
