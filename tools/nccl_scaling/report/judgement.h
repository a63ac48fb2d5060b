// How a run came out against what its user asked of it.
#pragma once

#include "analysis/compare.h"
#include "base/result.h"
#include "results.h"

#include <cstdint>
#include <string>
#include <vector>

namespace distgpu::scaling {

// A file that the run was held against.
struct JudgedDemand {
    enum class Kind : std::uint8_t { baseline, thresholds };
    Kind kind = Kind::baseline;
    std::string file;
    double tolerance = 0;  // of a baseline
    Comparison comparison;
};

struct Judgement {
    enum class Outcome : std::uint8_t {
        passed,
        failed,   // a measurement is too slow
        skipped,  // nothing was measured that one of the demands applies to
    };
    std::vector<JudgedDemand> demands;  // empty: nothing was asked
};

Judgement::Outcome outcome_of(const Judgement& judgement);

// "baseline old.json, tolerance 5.0 %: 12 passed, 0 failed, 0 not measured"
std::string summary_of(const JudgedDemand& demand);

// Why a run cannot be held against a baseline, the file of which is named.
Error not_comparable(const std::string& baseline, const Difference& difference);

// "all-reduce float, 64 MiB, in place, 4 nodes"
std::string failed_name(const Results& results, const Violation& violation);

// "all-reduce, 1 GiB, 16 ranks"
std::string waived_name(const Threshold& threshold);

// For the terminal. Lines that begin with '#': of each demand what failed, what was not measured,
// the counts.
std::string judgement_text(const Results& results, const Judgement& judgement);

}  // namespace distgpu::scaling
