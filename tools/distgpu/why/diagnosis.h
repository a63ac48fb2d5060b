// The diagnosis of a step from the samples of its nodes: which rank hangs, and where; as text, JSON
// and an HTML page.
#pragma once

#include "base/values.h"
#include "found_job.h"
#include "inspect/ended.h"
#include "inspect/ranks.h"
#include "why/evidence.h"
#include "why/stragglers.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// Ranks at the same place that did the same.
struct RankGroup {
    std::vector<std::uint32_t> ranks{};  // ascending
    std::vector<std::string> nodes{};    // each once
    CallSite site{};                     // at the last moment
    Activity activity = Activity::asleep;
    Progress progress = Progress::none;
    WaitsFor waits_for = WaitsFor::nothing;
    bool is_polling = false;
    std::string wait_channel{};  // of one of them
    std::string system_call{};   // of one of them
    std::string worker{};        // a worker process that one of them waits for, and its call site
    std::string lock{};          // who holds the lock file that one of them waits for
    Stack stack{};               // of one of them
    // Load of their GPUs at any moment, in percent; nullopt if unknown.
    std::optional<std::uint32_t> min_gpu_load{};
    std::optional<std::uint32_t> max_gpu_load{};

    bool has_moved() const { return progress > Progress::unknown; }
    // Is at one of several lines of a loop, whose function is its place.
    bool is_in_loop() const {
        return is_polling || (waits_for == WaitsFor::ranks && !site.is_collective);
    }
    // For the others, not for something of its own.
    bool waits() const {
        return waits_for == WaitsFor::ranks || waits_for == WaitsFor::backward ||
               waits_for == WaitsFor::gpu;
    }
};

// The evidence about a rank and its workers.
struct RankEvidence : Evidence {
    // A worker process for which the rank may wait, and its call site: it made no progress, and is
    // in the user's code.
    std::string worker{};
};
RankEvidence evidence_of_rank(const RankSample& rank);

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

struct Diagnosis {
    enum class Kind : std::uint8_t {
        ended,  // ranks are missing, and it is proven that they have ended
        stopped,
        in_kernel,
        other_collective,  // ranks wait in another collective than most
        elsewhere,         // ranks are at another call site than most
        shared_rank,       // processes of several tasks have one RANK
        unmoved,           // all ranks are at one call site, and none moved
        moving,
        unknown,
    };
    Kind kind = Kind::unknown;           // of the first finding
    std::vector<std::string> findings;   // sentences, the most important first
    std::vector<std::uint32_t> accused;  // ranks for which the others wait, or must
    std::vector<RankGroup> groups;       // the smallest first
    std::vector<std::uint32_t> missing;  // ranks
    std::vector<Zombie> ended;           // empty if no rank is missing
    std::vector<SharedRank> shared;
    std::vector<Straggler> stragglers;  // if ranks made progress
    // Details of up to 64 ranks, the smallest groups first; the first `outliers` of them are not in
    // the largest group.
    std::vector<RankDetails> details;
    std::size_t outliers = 0;
    std::vector<std::string> silent;   // nodes that did not answer
    std::vector<std::string> notes;    // what could not be sampled, and why
    std::string nccl;                  // NCCL's status of the job, lines; empty if unknown
    std::vector<std::string> records;  // files of torch's flight recorder
    double seconds = 0;                // duration of the sampling
    std::optional<double> silence;     // seconds since any two ranks exchanged data, if known
    std::uint64_t expected = 0;        // number of ranks
    std::uint32_t nodes = 0;
    bool is_component = false;  // of a heterogeneous step; other components were not sampled
};
inline std::string_view name_of(Diagnosis::Kind kind) {
    constexpr std::array<std::string_view, 9> names{
        "ended",       "stopped", "in_kernel", "other_collective", "elsewhere",
        "shared_rank", "unmoved", "moving",    "unknown"};
    return names.at(static_cast<std::size_t>(kind));
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
std::string diagnosis_json(const ResultHead& head, const Diagnosis& diagnosis);
std::string diagnosis_page(const ResultHead& head, const Diagnosis& diagnosis);

}  // namespace distgpu
