// The CPUs per task that srun takes from SRUN_CPUS_PER_TASK, as its option --cpus-per-task. It has
// taken none from the job since 22.05.
#pragma once

#include "slurm/shell_words.h"

#include <optional>
#include <string>

namespace distgpu {

// Reads the commands of a script one after the other.
class SrunCpus {
  public:
    // Takes note of a command that sets, exports or unsets the variable.
    void pass(const ShellCommand& command);

    // The variable's value for `command`, which may set it itself: SRUN_CPUS_PER_TASK=8 srun ...
    // Nothing: it has none.
    std::optional<std::string> of(const ShellCommand& command) const;

  private:
    std::optional<std::string> value_;  // of the shell's variable
    bool is_exported_ = false;
};

}  // namespace distgpu
