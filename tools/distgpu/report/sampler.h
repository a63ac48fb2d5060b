// Samples a step's ranks and GPUs on this node until its tasks have ended, and keeps the report's
// file of this node up to date.
#pragma once

#include "base/io/files.h"
#include "node/step_sampler.h"

#include <chrono>
#include <cstdint>
#include <string>

namespace distgpu {

struct SamplerOptions {
    StepSampler step{};                        // its index also spreads the writes of many nodes
    int control = -1;                          // from slurmstepd; see below
    std::chrono::milliseconds interval{5000};  // between samples
    std::chrono::milliseconds pause{60'000};   // between writes
};

// Over `control` slurmstepd sends ended_task_line() for each task of the node that has ended, with
// Slurm's number of the task and its wait status, and then all_ended_line. If it closes the control
// before, it has ended itself, and the report stays incomplete.
//
// Errors: the file exists already, or cannot be written; then nothing is sampled. Later only a
// write that fails is tried again.
Result<Done> sample_step_for_report(const SamplerOptions& options);

}  // namespace distgpu
