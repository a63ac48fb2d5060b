// The command line of nccl-scaling.
#pragma once

#include "analysis/efficiency.h"
#include "base/result.h"
#include "report/judgement.h"
#include "run/plan.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace distgpu::scaling {

// Paths; empty: not asked for.
struct OutputFiles {
    std::string json;
    std::string html;
};

struct Options {
    Wishes wishes;
    bool probe = false;  // the largest size is the most that a first probe may choose
    std::uint32_t iterations = 20;
    std::uint32_t warmup = 5;
    bool check = true;
    std::chrono::milliseconds timeout{};
    std::string backend;
    OutputFiles files;
    std::string baseline;          // a file that --json wrote; empty: none
    double tolerance = 0.05;       // by how much a bus bandwidth may be lower than its
    std::optional<double> expect;  // bus bandwidth of all nodes, bytes per second
    bool fail_on_limiter = false;
};

// A text for stdout: the help was asked for.
using Help = std::string;

// A user's own training times.
using Times = std::vector<ScalingPoint>;

using Asked = std::variant<Options, Times, Diff, Help>;

// Errors: what the command line has wrong; of what earlier editions had, the line to write instead.
Result<Asked> parse_options(int argc, const char* const* argv);

inline constexpr std::uint64_t largest_size = std::uint64_t{1} << 40U;

struct SizeRange {
    std::uint64_t begin = 8;
    std::uint64_t end = std::uint64_t{64} << 20U;
    std::uint32_t factor = 2;
    std::optional<std::uint64_t> step{};  // added, instead of the factor
};

// From begin to at most end. Errors: begin > end, a factor below 2, more than 10,000 sizes.
Result<std::vector<std::uint64_t>> sizes_of(const SizeRange& range);

}  // namespace distgpu::scaling
