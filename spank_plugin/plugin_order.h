// In which order Slurm calls the plugins of a process: that of plugstack.conf, by which it loads
// them.
#pragma once

#include <string_view>

namespace distgpu {

// A plugin whose file has this name was loaded after this one.
bool stands_before(std::string_view file_name);

}  // namespace distgpu
