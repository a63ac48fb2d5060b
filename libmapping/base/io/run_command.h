// Runs a program for its output, with an end to it.
#pragma once

#include "base/result.h"

#include <chrono>
#include <string>
#include <vector>

namespace distgpu {

// What the program wrote on standard output. It runs with the effective user's rights alone (those
// of root that slurmstepd keeps in reserve are given up), without this process's environment and
// open files, and is killed with its children when its time is over; what a driver keeps from
// ending is left behind after another second.
// Errors (object: the command): it cannot be started, did not end in time, failed (the problem is
// the last line of its standard error, up to 500 bytes; libraries may complain in others), wrote
// more than 16 MiB.
Result<std::string> run_command(const std::vector<std::string>& arguments,
                                std::chrono::milliseconds time_limit);

}  // namespace distgpu
