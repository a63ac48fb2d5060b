// The run: every rank executes the same plan, and rank 0 records the results.
#pragma once

#include "backend/backend.h"
#include "bootstrap/channel.h"
#include "bootstrap/membership.h"
#include "run/measure.h"
#include "run/options.h"
#include "run/recorder.h"

namespace distgpu::scaling {

struct RunContext {
    const Options& options;
    const Membership& membership;
    std::optional<std::size_t> corrupt_element;  // LoopOptions::corrupt_element
    Channel& channel;
    Backend& backend;
    Recorder& recorder;  // used on rank 0 only
};

// Returns the exit status. On an error it has reported that to the channel, which has called the
// TerminationHandler.
ExitCode run(const RunContext& context);

}  // namespace distgpu::scaling
