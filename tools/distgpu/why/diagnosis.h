// What is wrong with a step, from what its nodes saw: which rank, and where.
#pragma once

#include "base/json_text.h"
#include "why/look.h"
#include "why/rank_details.h"
#include "why/ranks.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
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

struct Diagnosis {
    enum class Kind : std::uint8_t {
        ended,  // ranks are missing
        stopped,
        in_kernel,
        other_collective,  // than most
        elsewhere,         // while most wait
        unmoved,           // all in one place, and nothing happened
        moving,
        unknown,
    };
    Kind kind = Kind::unknown;           // of the first finding
    std::vector<std::string> findings;   // sentences, the most important first
    std::vector<RankGroup> groups;       // the smallest first
    std::vector<std::uint32_t> missing;  // ranks
    std::vector<EndedProcess> ended;     // where ranks are missing
    // Of up to 64 ranks, those of the smallest groups; and how many of these are odd: not of the
    // largest group.
    std::vector<RankDetails> details;
    std::size_t odd = 0;
    std::vector<std::string> silent;     // nodes that did not answer
    std::vector<std::string> notes;      // what could not be seen, and why
    std::string nccl;                    // what it says of the job, lines; empty: nothing
    std::vector<std::string> records;    // files of torch's flight recorder
    double seconds = 0;                  // for which the ranks were looked at
    std::uint64_t expected = 0;          // ranks
    std::uint32_t nodes = 0;
};
std::string_view name_of(Diagnosis::Kind kind);

// `tasks`: the step's.
Diagnosis diagnose(const std::vector<NodeLook>& looks, const std::vector<std::string>& silent,
                   std::uint32_t tasks);

}  // namespace distgpu
