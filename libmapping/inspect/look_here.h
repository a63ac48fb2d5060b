// Looks at a step's processes on this node for some seconds.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "inspect/look.h"

#include <chrono>
#include <string>

namespace distgpu {

// At once, then about once a second until `length` is over, at times that no loop of the program's
// keeps step with. Of no length it looks once, and does not ask NCCL. Where something cannot be
// seen, the look says so. `environment`: this process's. Error: owned_by_another().
Result<NodeLook> look_here(const std::string& node, const std::string& step,
                           std::chrono::seconds length, const Environment& environment);

}  // namespace distgpu
