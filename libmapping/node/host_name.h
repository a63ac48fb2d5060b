// What this machine calls itself.
#pragma once

#include <string>

namespace distgpu {

// gethostname(2); empty where it fails.
std::string host_name();

}  // namespace distgpu
