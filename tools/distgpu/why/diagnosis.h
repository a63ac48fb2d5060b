// The diagnosis of a step from the samples of its nodes: which rank hangs, and where; as text, JSON
// and an HTML page.
#pragma once

#include "base/values.h"
#include "inspect/node_sample.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// What a rank did while it was sampled.
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

// The last known stack of the process; null if there is none.
const Stack* last_stack(const NodeSample& sample, const ProcessSample& process);

// Whether its stack differed between two moments.
bool has_changed_stack(const ProcessSample& process);

// Ranks with the same call site and activity.
struct RankGroup {
    std::vector<std::uint32_t> ranks;  // ascending
    std::vector<std::string> nodes;    // each once
    CallSite site;                     // at the last moment
    Activity activity = Activity::asleep;
    bool has_moved = false;    // their stacks changed, or they were woken
    std::string wait_channel;  // of one of them
    std::string worker;        // a worker process that one of them waits for, and its call site
    Stack stack;               // of one of them
    // Load of their GPUs at any moment, in percent; nullopt if unknown.
    std::optional<std::uint32_t> min_gpu_load{};
    std::optional<std::uint32_t> max_gpu_load{};
};

// The state of one rank, without its stack.
struct RankDetails {
    std::uint32_t rank = 0;
    std::string node;
    pid_t pid = 0;
    std::string command{};
    char state = '?';                      // at the last moment
    std::string wait_channel{};            // at the last moment
    double cpu = 0;                        // seconds of CPU per second
    std::uint64_t wakeups = 0;             // of the main thread
    std::vector<std::string> launchers{};  // "700 torchrun train.py", the outermost first
    std::vector<std::string> children{};   // "812 python3 (S)", by process id
    std::vector<Connection> connections{};
    std::vector<GpuSample> gpus{};  // those that it may use and whose load was sampled
};

RankDetails rank_details(const RankSample& rank);

// A zombie: a process that has ended, but whose parent has not waited for it. The kernel no longer
// shows which rank it was.
struct EndedProcess {
    std::string node;
    pid_t pid = 0;
    std::string name;
    std::string how;  // "was killed by signal 9 (SIGKILL)", "ended with status 1"

    bool operator==(const EndedProcess&) const = default;
};
std::vector<EndedProcess> ended_processes(const std::vector<NodeSample>& samples);

struct Diagnosis {
    enum class Kind : std::uint8_t {
        ended,  // ranks are missing
        stopped,
        in_kernel,
        other_collective,  // ranks wait in another collective than most
        elsewhere,         // ranks are at another call site than most
        unmoved,           // all ranks are at one call site, and none moved
        moving,
        unknown,
    };
    Kind kind = Kind::unknown;           // of the first finding
    std::vector<std::string> findings;   // sentences, the most important first
    std::vector<RankGroup> groups;       // the smallest first
    std::vector<std::uint32_t> missing;  // ranks
    std::vector<EndedProcess> ended;     // empty if no rank is missing
    // Details of up to 64 ranks, the smallest groups first; the first `outliers` of them are not in
    // the largest group.
    std::vector<RankDetails> details;
    std::size_t outliers = 0;
    std::vector<std::string> silent;   // nodes that did not answer
    std::vector<std::string> notes;    // what could not be sampled, and why
    std::string nccl;                  // NCCL's status of the job, lines; empty if unknown
    std::vector<std::string> records;  // files of torch's flight recorder
    double seconds = 0;                // duration of the sampling
    std::uint64_t expected = 0;        // number of ranks
    std::uint32_t nodes = 0;
    bool is_component = false;  // of a heterogeneous step; other components were not sampled
};
inline std::string_view name_of(Diagnosis::Kind kind) {
    constexpr EnumNames<Diagnosis::Kind> names{{"ended", "stopped", "in_kernel", "other_collective",
                                                "elsewhere", "unmoved", "moving", "unknown"}};
    return names.name_of(kind);
}

// `tasks`: number of tasks of the step. `is_component`: as for find_ranks().
Diagnosis diagnose(const std::vector<NodeSample>& samples, const std::vector<std::string>& silent,
                   std::uint32_t tasks, bool is_component = false);

// The stacks of all ranks merged into a tree, as in LLNL's STAT: an indented line for each frame,
// with the ranks at the end of each chain. Groups without a stack are omitted.
std::string stack_tree_text(const std::vector<RankGroup>& groups);

// A few indented lines, the first with the process.
std::string to_text(const RankDetails& details);

// The findings, a table of the groups, details of the outliers, the tree of stacks, and what could
// not be sampled: as text (with `colour` for a terminal), as JSON in the schema distgpu.why/1, and
// as an HTML page, in which names from the program are escaped. `step`: its name.
std::string diagnosis_text(const std::string& step, const Diagnosis& diagnosis, bool colour);
std::string diagnosis_json(const std::string& step, const Diagnosis& diagnosis);
std::string diagnosis_page(const std::string& step, const Diagnosis& diagnosis);

}  // namespace distgpu
