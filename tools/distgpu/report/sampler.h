// Samples a step's ranks and GPUs on this node until its tasks have ended, and keeps the report's
// file of this node up to date.
#pragma once

#include "base/io/files.h"
#include "report/node_report.h"

#include <chrono>
#include <cstdint>
#include <string>

namespace distgpu {

struct SamplerOptions {
    StepReport head{};        // without reports
    std::string node{};       // this one
    std::uint32_t index = 0;  // its number in the step, which spreads the writes of many nodes
    std::string file{};       // absolute; of the whole step
    std::string command{};    // the path of distgpu
    int control = -1;         // from slurmstepd; see below
    std::chrono::milliseconds interval{5000};  // between samples
    std::chrono::milliseconds pause{60'000};   // between writes
};

// Over `control` slurmstepd sends a line for each task of the node that has ended, "TASK STATUS"
// with Slurm's number of the task and its wait status, and closes it when it has ended itself.
//
// Errors: the file exists already, or cannot be written; then nothing is sampled. Later only a
// write that fails is tried again.
Result<Done> sample_step_for_report(const SamplerOptions& options);

}  // namespace distgpu
