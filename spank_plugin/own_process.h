// The process that loaded the plugin: its environment and its command line.
#pragma once

#include <string>
#include <vector>

namespace distgpu {

// A variable of this process's environment; empty when unset.
std::string own_variable(const char* variable);

// The program and its arguments; empty where /proc does not tell.
std::vector<std::string> own_command_line();

}  // namespace distgpu
