// The ranks of a step by where they are and what they did while they were looked at.
#pragma once

#include "inspect/look.h"
#include "inspect/ranks.h"
#include "inspect/stack.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// What a rank did while it was looked at.
enum class Activity : std::uint8_t {
    stopped,    // by a signal, or a debugger
    in_kernel,  // in a call that cannot be interrupted, or for a file system's answer
    running,    // used its CPU
    awake,      // went to sleep and woke again
    asleep,     // its main thread did nothing at all
};
std::string_view name_of(Activity activity);

// Whether its stack was another at two moments.
bool changed_stack(const ProcessLook& process);

// Ranks that were in the same place, doing the same.
struct RankGroup {
    std::vector<std::uint32_t> ranks;  // ascending
    std::vector<std::string> nodes;    // each once
    CallSite site;                     // at the last moment
    Activity activity = Activity::asleep;
    bool moved = false;        // its stack changed meanwhile, or it was woken
    std::string wait_channel;  // of one of them
    std::string worker;        // where a worker process of one is, while it waits for that
    Stack stack;               // of one of them
    // How busy the GPUs were that they may use, at any moment, in percent; nothing: not known.
    std::optional<std::uint32_t> least_busy{};
    std::optional<std::uint32_t> most_busy{};

    bool operator==(const RankGroup&) const = default;
};

// The smallest group first.
std::vector<RankGroup> group_ranks(const std::vector<RankLook>& ranks);

}  // namespace distgpu
