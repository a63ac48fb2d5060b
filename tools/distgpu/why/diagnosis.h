// What is wrong with a step, from what its nodes saw: which rank, and where; as text, JSON and a
// page.
#pragma once

#include "base/values.h"
#include "inspect/look.h"

#include <cstddef>
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
    running,    // used its CPU, or waited for it
    awake,      // went to sleep and woke again
    asleep,     // its main thread did nothing at all
};
inline std::string_view name_of(Activity activity) {
    constexpr EnumWords<Activity> names{
        {"stopped", "in the kernel", "running", "awake at times", "asleep"}};
    return names.word_of(activity);
}

// The last that was seen of it. Null: none was.
const Stack* last_stack(const NodeLook& look, const ProcessLook& process);

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
};

// What was seen of one rank, beside its stack.
struct RankDetails {
    std::uint32_t rank = 0;
    std::string node;
    pid_t pid = 0;
    std::string command{};
    char state = '?';                      // at the last moment
    std::string wait_channel{};            // the same
    double cpu = 0;                        // of a second
    std::uint64_t wakings = 0;             // in all
    std::vector<std::string> launchers{};  // "700 torchrun train.py", the outermost first
    std::vector<std::string> children{};   // "812 python3 (S)", by their numbers
    std::vector<Connection> connections{};
    std::vector<GpuLook> gpus{};  // that it may use, and that are known
};

RankDetails details_of(const RankLook& rank);

// A process that has ended and that nobody has waited for. Which rank it was, the kernel no longer
// tells.
struct EndedProcess {
    std::string node;
    pid_t pid = 0;
    std::string name;
    std::string how;  // "was killed by signal 9 (SIGKILL)", "ended with status 1"

    bool operator==(const EndedProcess&) const = default;
};
std::vector<EndedProcess> ended_processes(const std::vector<NodeLook>& looks);

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
    std::vector<std::string> silent;   // nodes that did not answer
    std::vector<std::string> notes;    // what could not be seen, and why
    std::string nccl;                  // what it says of the job, lines; empty: nothing
    std::vector<std::string> records;  // files of torch's flight recorder
    double seconds = 0;                // for which the ranks were looked at
    std::uint64_t expected = 0;        // ranks
    std::uint32_t nodes = 0;
    bool is_component = false;  // of a heterogeneous step, whose others were not looked at
};
inline std::string_view name_of(Diagnosis::Kind kind) {
    constexpr EnumWords<Diagnosis::Kind> names{{"ended", "stopped", "in_kernel", "other_collective",
                                                "elsewhere", "unmoved", "moving", "unknown"}};
    return names.word_of(kind);
}

// `tasks`: the step's. `is_component`: as of find_ranks().
Diagnosis diagnose(const std::vector<NodeLook>& looks, const std::vector<std::string>& silent,
                   std::uint32_t tasks, bool is_component = false);

// The stacks of all ranks as one tree, as LLNL's STAT shows them: a line for each frame, indented,
// with the ranks at the end of each chain. Groups without a stack are not in it.
std::string stack_tree_text(const std::vector<RankGroup>& groups);

// A few lines, indented, with the process first.
std::string to_text(const RankDetails& details);

// The findings, a table of the groups, what was seen of the odd ranks, the tree of stacks, and what
// could not be seen: for a terminal (`colour`), as JSON in the schema distgpu.why/1, and as a page,
// in which names of a program are text. `step`: its name.
std::string diagnosis_text(const std::string& step, const Diagnosis& diagnosis, bool colour);
std::string diagnosis_json(const std::string& step, const Diagnosis& diagnosis);
std::string diagnosis_page(const std::string& step, const Diagnosis& diagnosis);

}  // namespace distgpu
