#include "report/rank_counters.h"

#include "base/io/files.h"
#include "base/values.h"
#include "inspect/process_facts.h"
#include "inspect/ranks.h"
#include "node/machine.h"

#include <algorithm>
#include <set>
#include <unistd.h>
#include <utility>

namespace distgpu {
namespace {

double seconds_of(std::uint64_t ticks) {
    return static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

std::uint64_t number_after(std::string_view text, std::string_view key) {
    return whole_number_64(value_after(text, key)).value_or(0);
}

// /proc/PID/statm (proc(5)): the second number counts resident pages.
std::uint64_t resident_bytes(pid_t pid) {
    const std::string text = read_proc(pid, "statm");
    const auto words = words_in(text);
    const auto pages = words.size() > 1 ? whole_number_64(words[1]) : std::nullopt;
    return pages.value_or(0) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

// /proc/PID/schedstat (Linux's Documentation/scheduler/sched-stats): the second number counts the
// nanoseconds in which the main thread waited on a run queue.
double cpu_wait_seconds(pid_t pid) {
    constexpr double nano = 1e-9;
    const std::string text = read_proc(pid, "schedstat");
    const auto words = words_in(text);
    const auto waited = words.size() > 1 ? whole_number_64(words[1]) : std::nullopt;
    return nano * static_cast<double>(waited.value_or(0));
}

// rchar and wchar count also what its children read and wrote, once it has waited for them (Linux,
// kernel/exit.c).
void add_files(pid_t pid, RankCounters& counters) {
    const std::string text = read_proc(pid, "io");
    counters.bytes_read += number_after(text, "rchar:");
    counters.bytes_written += number_after(text, "wchar:");
}

std::uint32_t cpu_count(pid_t pid) {
    KernelCpuSet cpus{};
    return read_affinity(pid, cpus) ? CpuSet::from_words(cpus).count() : 0;
}

// Those of the tree that belong to no task.
void add_others(const std::vector<StepProcess>& tasks, const ProcessTree& tree,
                std::vector<pid_t>& others) {
    std::set<pid_t> own;
    for (const StepProcess& task : tasks) {
        own.insert(task.pid);
        for (const pid_t pid : tree.below(task.pid)) own.insert(pid);
    }
    for (const auto& [pid, stat] : tree.stats) {
        if (!own.contains(pid)) others.push_back(pid);
    }
    std::ranges::sort(others);
}

}  // namespace

RankSearch find_rank_processes(const std::vector<StepProcess>& tasks, std::vector<pid_t> others) {
    const ProcessTree tree = read_process_tree(others);
    add_others(tasks, tree, others);
    NodeSample sample = sample_processes("", tasks, "", tree);
    read_states(sample);
    std::vector<RankProcess> ranks;
    for (const RankSample& rank : find_ranks({&sample, 1}, 0).seen) {
        const ProcessSample& process = *rank.process;
        ranks.push_back({.rank = rank.rank,
                         .task = process.task.value_or(rank.rank),
                         .has_own_rank = process.rank || process.is_hidden,
                         .pid = process.pid,
                         .begin = process.begin,
                         .program = process.name,
                         .cpus = cpu_count(process.pid),
                         .below = tree.below(process.pid)});
    }
    return {std::move(ranks), std::move(others)};
}

std::optional<RankCounters> read_rank_counters(const RankProcess& rank) {
    const auto own = read_stat(rank.pid);
    if (!own || own->begin != rank.begin || own->state == 'Z') return std::nullopt;
    RankCounters counters{.cpu_seconds = seconds_of(own->ticks),
                          .worker_cpu_seconds = seconds_of(own->reaped_ticks),
                          .cpu_wait_seconds = cpu_wait_seconds(rank.pid),
                          .memory = resident_bytes(rank.pid)};
    add_files(rank.pid, counters);
    for (const pid_t pid : rank.below) {
        const auto stat = read_stat(pid);
        if (!stat) continue;
        counters.worker_cpu_seconds += seconds_of(stat->ticks + stat->reaped_ticks);
        counters.worker_cpu_wait_seconds += cpu_wait_seconds(pid);
        counters.memory += resident_bytes(pid);
        add_files(pid, counters);
    }
    return counters;
}

}  // namespace distgpu
