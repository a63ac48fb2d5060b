// Asks Slurm by one of its commands, whose text stays the same from release to release while the
// library's types change.
#pragma once

#include "base/environment.h"
#include "base/result.h"

#include <chrono>
#include <string>
#include <vector>

namespace distgpu {

// What the command (its name, then its arguments) prints. The task's environment tells where the
// command and slurm.conf are.
// Errors: as of run_command().
Result<std::string> run_slurm_command(const Environment& environment,
                                      const std::vector<std::string>& command,
                                      std::chrono::milliseconds time_limit);

}  // namespace distgpu
