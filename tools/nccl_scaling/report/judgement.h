// How a run came out against what its user asked of it.
#pragma once

#include "analysis/compare.h"
#include "results/results.h"

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
    std::vector<Difference> differences{};  // from a baseline: another library, driver, ...
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

// "NCCL is '2.29.2' there, '2.30.7' here"
std::string difference_text(const Difference& difference);

// "all-reduce, 1 GiB, 16 ranks"
std::string waived_name(const Threshold& threshold);

// For the terminal. Lines that begin with '#': of each demand in what its run differs, what failed,
// what was not measured, the counts.
std::string judgement_text(const Results& results, const Judgement& judgement);

}  // namespace distgpu::scaling
