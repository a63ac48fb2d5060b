// The run: every rank goes through the same plan, rank 0 records.
#pragma once

#include "backend/backend.h"
#include "bootstrap/channel.h"
#include "bootstrap/membership.h"
#include "run/measure.h"
#include "run/options.h"
#include "run/recorder.h"

namespace distgpu::scaling {

struct Equipment {
    const Options& options;
    const Membership& membership;
    std::optional<std::size_t> corrupt;  // see Loop
    Channel& channel;
    Backend& backend;
    Recorder& recorder;  // used on rank 0 only
};

// The exit status. Where a rank cannot go on the channel has been told, and has called End.
ExitCode run(const Equipment& equipment);

}  // namespace distgpu::scaling
