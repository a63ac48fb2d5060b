// Commands of a script that are known to read no variable of the ranks and to leave nothing behind
// that only they can make.
#pragma once

#include "script/shell_words.h"

namespace distgpu {

// Whether all that $(...) and `...` in the command run only prints what the machine or Slurm knows.
bool only_prints_in_values(const ShellCommand& command);

// Whether the command starts nothing that could read the variables of the ranks. What is not known
// counts as one that reads them.
bool reads_no_variables(const ShellCommand& command);

}  // namespace distgpu
