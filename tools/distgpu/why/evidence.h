// What a process did from the first moment of its sample to the last, and for what it waits. What
// the tools made it do while they read its stack is left out.
#pragma once

#include "base/values.h"
#include "inspect/node_sample.h"
#include "inspect/stack.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// In which state it was.
enum class Activity : std::uint8_t {
    stopped,    // by a signal or a debugger
    in_kernel,  // in an uninterruptible call, or waiting for a file system
    running,    // used its CPU, or waited for it
    awake,      // went to sleep and woke again
    asleep,     // its main thread did not run at all
};
inline std::string_view name_of(Activity activity) {
    constexpr EnumNames<Activity> names{
        {"stopped", "in the kernel", "running", "awake at times", "asleep"}};
    return names.name_of(activity);
}

// By what it is known to have made progress; the first that applies. Neither waking nor spinning
// is progress, nor what it does while it waits for other ranks.
enum class Progress : std::uint8_t {
    none,
    unknown,    // it ran, but its stack cannot be read
    messages,   // exchanged data with other ranks
    files,      // read or wrote more than 64 KiB/s
    children,   // processes below it ran
    computing,  // used at least a fifth of a CPU outside of waits
    functions,  // was in different functions of the user
    variables,  // variables of the user's functions changed, and it did not only sleep
};
inline std::string_view name_of(Progress progress) {
    constexpr EnumNames<Progress> names{{"none", "unknown", "messages", "files", "children",
                                         "computing", "functions", "variables"}};
    return names.name_of(progress);
}

struct Evidence {
    Activity activity = Activity::asleep;
    Progress progress = Progress::none;
    WaitsFor waits_for = WaitsFor::nothing;  // at all moments at which its stack is known
    // Woke, and made no progress outside of a wait for other ranks: a loop that waits, and looks
    // whether it may go on.
    bool is_polling = false;
    CallSite site{};            // empty if no stack is known
    Stack stack{};              // at the last moment; where it polls, the part that did not change
    std::uint64_t wakeups = 0;  // of the main thread
    double cpu = 0;             // seconds of CPU per second

    bool has_progress() const { return progress > Progress::unknown; }
};

Evidence evidence_of(const NodeSample& sample, const ProcessSample& process);

}  // namespace distgpu
