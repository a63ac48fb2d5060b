// The command line of nccl-scaling.
#pragma once

#include "analysis/efficiency.h"
#include "base/result.h"
#include "report/comparison.h"
#include "run/plan.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace distgpu::scaling {

// Paths; empty if not requested.
struct OutputFiles {
    std::string json;
    std::string html;
};

struct Options {
    Selection selection;
    bool probes_size = false;  // a probe chooses the size, up to the selected one
    std::uint32_t iterations = 20;
    std::uint32_t warmup = 5;
    bool checks_data = true;
    std::chrono::milliseconds timeout{};
    std::string backend;
    OutputFiles files;
    std::string baseline_file;  // written by --json; empty if none
    double tolerance = 0.05;    // fraction by which a bus bandwidth may be below the baseline's
    std::optional<double> expected_busbw;  // of all nodes, in bytes per second
    bool fail_on_limiter = false;
};

// Help text for stdout.
using Help = std::string;

// A user's own training times.
using Times = std::vector<ScalingPoint>;

using CommandLine = std::variant<Options, Times, Diff, Help>;

// Errors: an invalid command line. For an option that was removed, the remedy is its replacement.
Result<CommandLine> parse_options(int argc, const char* const* argv);

inline constexpr std::uint64_t largest_size = std::uint64_t{1} << 40U;

struct SizeRange {
    std::uint64_t begin = 8;
    std::uint64_t end = std::uint64_t{64} << 20U;
    std::uint32_t factor = 2;
    std::optional<std::uint64_t> step{};  // added instead of multiplying
};

// Sizes from begin to at most end. Errors: begin > end, a factor below 2, more than 10,000 sizes.
Result<std::vector<std::uint64_t>> sizes_of(const SizeRange& range);

}  // namespace distgpu::scaling
