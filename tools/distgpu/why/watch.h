// Watches the step of which one task started it, and says once where it hangs.
#pragma once

#include "base/exit_code.h"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace distgpu {

struct WatchTime {
    std::chrono::seconds limit{};  // without any movement
    bool ends = false;             // then end the step
};

// "30m", "30m:end"; "6s" too. Nothing: another text, zero, or more than a day.
std::optional<WatchTime> parse_watch_time(std::string_view text);

// Runs on rank 0's node until the task ends of which kept_file (node/host_helper.h) is the
// pidfd. Nearly always it sleeps: a sixth of the limit long, and then reads the counters of the
// interfaces and HCAs. While they stand still it looks at the ranks of its own node; if these are
// where they were for as long as the limit, at all nodes by a step of its own. Where that finds
// nothing that moved, it says so on standard error, and ends.
ExitCode watch_step(const std::string& step, const WatchTime& time);

}  // namespace distgpu
