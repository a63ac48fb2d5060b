// Commands of a script that are known to read no variable of the ranks and to leave nothing behind
// that only they can make.
#pragma once

#include "slurm/shell_words.h"

#include <string_view>

namespace distgpu {

// Whether all that $(...) and `...` in the command, its here-documents included, run only prints
// what the machine or Slurm knows.
bool only_prints_in_values(std::string_view script, const ShellCommand& command);

// Whether its words may stand for variables that the script does not name: ${!NAME}.
bool names_indirectly(std::string_view script, const ShellCommand& command);

// Whether the command starts nothing that could read the variables of the ranks. What is not known
// counts as one that reads them.
bool reads_no_variables(std::string_view script, const ShellCommand& command);

// Whether the variables that follow are exported without export: set -a.
bool exports_all(const ShellCommand& command);

}  // namespace distgpu
