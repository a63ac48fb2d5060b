// The command line of nccl-scaling.
#pragma once

#include "analysis/training_step.h"
#include "backend/backend.h"
#include "base/result.h"
#include "run/judge.h"
#include "run/output_files.h"
#include "run/plan.h"
#include "run/saved_runs.h"
#include "run/times.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace distgpu::scaling {

struct Options {
    Wishes wishes;
    std::uint32_t iterations = 20;
    std::uint32_t warmup = 5;
    bool check = true;
    std::chrono::milliseconds timeout{};
    std::string backend;
    Modes modes;
    OutputFiles files;
    Demands demands;
    std::optional<double> expect;      // bus bandwidth of all nodes, bytes per second
    std::optional<TrainingStep> step;  // to be modelled
    bool fail_on_limiter = false;
    bool orders = false;  // ranks by name and by switch are compared
    double minutes = 0;   // of the whole run at least; 0: as long as its parts take
};

// A text for stdout: the help was asked for.
using Help = std::string;

using Asked = std::variant<Options, Times, Redraw, Diff, Help>;

// Errors: what the command line has wrong.
Result<Asked> parse_options(int argc, const char* const* argv);

}  // namespace distgpu::scaling
