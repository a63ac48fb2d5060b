// Published all-reduce bus bandwidths, for "is my number good?".
#pragma once

#include "results/results.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu::scaling {

struct ReferenceFigure {
    std::string_view gpu;  // as it stands in the model's name: "H100"
    std::uint32_t nodes = 0;
    std::uint32_t ranks = 0;
    double busbw = 0;            // bytes per second
    std::uint64_t bytes = 0;     // 0: not published
    std::string_view algorithm;  // empty: not published
    std::string_view nccl;       // version; empty: not published
    std::string_view kind;       // "measured", "expected" or "lower limit" of a health check
    std::string_view source;
    std::string_view date;  // of the measurement, else of the source; empty: neither is known
};

const std::vector<ReferenceFigure>& reference_figures();

// "482.26 GB/s (measured, 16 GiB, NVLS, NCCL 2.27.7; URL, 2026-08-07)"; unknown parts are
// left out.
std::string reference_text(const ReferenceFigure& figure);

// A figure beside what this run measured of the same shape.
struct ReferenceComparison {
    const ReferenceFigure* figure = nullptr;
    std::uint64_t bytes = 0;      // this run's
    std::optional<double> busbw;  // this run's, bytes per second
};

// For each figure of the same GPU model, number of nodes and ranks, the largest out-of-place
// all-reduce of this run, where that has at least 1 GiB: below, the bandwidth has not levelled off
// and the two are not comparable. Back end nccl only.
std::vector<ReferenceComparison> compare_with_references(const Results& results);

}  // namespace distgpu::scaling
