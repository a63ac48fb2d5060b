// How a run compares with an earlier one: each measurement for itself, never an average, in which
// one slow group or size would be lost.
#pragma once

#include "base/result.h"
#include "results/results.h"

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu::scaling {

// An earlier run that this one is held against.
struct Baseline {
    std::string file;
    Results results;
    double tolerance = 0.05;  // by how much a bus bandwidth may be lower
};

// A measurement that both have.
struct Change {
    std::size_t measurement = 0;  // index into the later run's
    double before = 0;            // bus bandwidths
    double after = 0;

    bool operator==(const Change&) const = default;
};

// Of the groups of the first GPUs and nodes, in the order of the baseline. Pairs, rails and the
// rest are held against each other instead.
struct Judgement {
    std::string file;
    double tolerance = 0;
    std::vector<std::string> differences{};  // "NCCL is '2.29.2' there, '2.30.7' here"
    std::vector<Change> changes{};           // what both have
    std::vector<Change> failed{};            // those of them that are too slow
    std::vector<std::string> unmeasured{};   // "all-reduce float, 1 GiB, 16 ranks"

    std::size_t passed() const { return changes.size() - failed.size(); }

    // check_failed: a measurement is too slow; skipped: the two have none in common.
    ExitCode exit_code() const;
};

Judgement judge(const Results& results, const Baseline& baseline);

// For the terminal. Lines that begin with '#': in what the run differs, what failed, what was not
// measured, the counts.
std::string judgement_text(const Results& results, const Judgement& judgement);

// Two files that --json wrote, whatever library or driver they were measured with.
struct Diff {
    std::string before;
    std::string after;
    double tolerance = 0.05;  // by how much a bus bandwidth may be lower in the second
};

// Prints in what the runs differ, each bus bandwidth that both have, and what is slower: then it is
// check_failed. Errors: a run cannot be read; they have no measurement in common.
Result<ExitCode> diff_runs(const Diff& diff, std::FILE* out);

// What keeps two fingerprints from being equal: "NCCL is '2.29.2' there, '2.30.7' here", where
// `there` is called so. Those of `here` come before those that only the other has.
std::vector<std::string> differences(const Fingerprint& here, const Fingerprint& other,
                                     std::string_view there);

}  // namespace distgpu::scaling
