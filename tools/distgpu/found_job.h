// What the results of `distgpu why` and `distgpu explain` say of the job and the step that they are
// about.
#pragma once

#include "command_line.h"
#include "slurm/find_running_step.h"

#include <string>

namespace distgpu {

// The argument of both commands.
Option step_option(std::string& step);

// Reports the error of find_step() for this argument.
ExitCode report_step_error(const std::string& argument, const Error& error);

// The beginning of a result in JSON or HTML; a text is empty if it is unknown.
struct ResultHead {
    std::string date;  // "2026-01-01T00:00:00Z"
    std::string cluster;
    std::string user;   // who owns the job
    std::string job;    // as squeue shows it
    std::string state;  // of the job, such as "running"
    std::string step;   // empty if none was sampled
};

// May ask slurmctld for the cluster's name. Precondition: this process still has its Slurm
// variables, which sample_all_nodes() removes.
ResultHead result_head(const FoundStep& found, const Environment& environment);

}  // namespace distgpu
