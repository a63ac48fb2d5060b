// What is printed of a user's own training times: how far from linear they are, read both ways.
#pragma once

#include "analysis/efficiency.h"
#include "base/result.h"

#include <string>
#include <vector>

namespace distgpu::scaling {

// The same times twice, for the same numbers of nodes in the same order. Which of the two applies
// the user knows.
struct TimesReport {
    std::vector<ScalingPoint> weak;    // each node had the same work in every run
    std::vector<ScalingPoint> strong;  // all nodes together had the same work in every run
};

// Why they cannot be compared.
Error refusal_of(const UnusableTimes& times);

// The table, what each column assumes, and as the last line the verdict.
std::string times_table(const TimesReport& report);

// A header and a row a number of nodes: seconds, efficiencies (1: linear). Lines end as in
// to_csv().
std::string times_csv(const TimesReport& report);

// Schema distgpu.scaling-times/1: "verdict", "baseline_nodes", and "times" with "nodes", "seconds",
// "weak" and "strong".
std::string times_json(const TimesReport& report);

}  // namespace distgpu::scaling
