// A step's ranks on this node, and what each of them has used, from /proc.
#pragma once

#include "inspect/task_processes.h"

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace distgpu {

struct RankProcess {
    std::uint32_t rank = 0;
    std::uint32_t task = 0;
    bool has_own_rank = true;  // false: it has its task's number, as a launcher does at first
    pid_t pid = 0;
    std::uint64_t begin = 0;     // clock ticks since the machine started
    std::string program{};       // its name: "python3"
    std::uint32_t cpus = 0;      // on which it may run
    std::vector<pid_t> below{};  // the processes below it

    bool operator==(const RankProcess&) const = default;
};

struct RankSearch {
    std::vector<RankProcess> ranks;
    // The node's processes that belong to none of the tasks, ascending. None will become a rank's,
    // unless the kernel gives its number to a new process.
    std::vector<pid_t> others;
};

// Finds the ranks of these tasks, as find_ranks() does. Reads every process of the node except
// `others`, which an earlier search has found.
RankSearch find_rank_processes(const std::vector<StepProcess>& tasks,
                               std::vector<pid_t> others = {});

// Since the rank's process began.
struct RankCounters {
    double cpu_seconds = 0;
    double worker_cpu_seconds = 0;  // of the processes below it, those that have ended included
    double cpu_wait_seconds = 0;    // in which its main thread could run, but had no CPU
    double worker_cpu_wait_seconds = 0;  // the same of the processes that are below it now
    std::uint64_t memory = 0;            // bytes resident now, with these processes
    std::uint64_t bytes_read = 0;
    std::uint64_t bytes_written = 0;

    bool operator==(const RankCounters&) const = default;
};

// Reads a few files for each of its processes; nullopt if it has ended.
std::optional<RankCounters> read_rank_counters(const RankProcess& rank);

}  // namespace distgpu
