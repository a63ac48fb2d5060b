// The process that loaded the plugin: its environment, its command line, and from which file.
#pragma once

#include <string>
#include <vector>

namespace distgpu {

// A variable of this process's environment; empty when unset.
std::string own_variable(const char* variable);

// The program and its arguments; empty where /proc does not tell.
std::vector<std::string> own_command_line();

// The plugin's own file, as Slurm found it; empty where the loader does not tell.
std::string own_plugin_file();

}  // namespace distgpu
