// The key `watch`: waits next to rank 0 until the step hangs, and reports it.
#pragma once

#include "base/result.h"

#include <string>
#include <string_view>

namespace distgpu {

// Watches the step until the task ends whose pidfd is helper_fd (node/host_helper.h). `time`:
// "30m", "30m:end", "6s"; of up to a day. Reports on standard error a step without progress for
// that long and, with ":end", ends it if it hangs.
ExitCode watch_step(const std::string& step, std::string_view time);

}  // namespace distgpu
