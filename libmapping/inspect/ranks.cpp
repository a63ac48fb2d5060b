// Finds the step's ranks among the sampled processes, and the processes above them.
#include "base/format.h"
#include "base/values.h"
#include "inspect/node_sample.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace distgpu {
namespace {

using Candidates = std::vector<const ProcessSample*>;

// Python processes first, then those that are not shells or launchers, then by age; of those that
// began in the same tick the lowest pid first, because that is the parent.
auto sort_key(const ProcessSample* process) {
    constexpr std::string_view launchers =
        "bash dash distgpu env mpirun nice numactl orted sh slurm_script time timeout";
    return std::tuple(!process->is_python, has_word(launchers, process->name), process->begin,
                      process->pid);
}

RankSample sample_of_rank(std::uint32_t rank, const NodeSample& node,
                          const Candidates& candidates) {
    const ProcessSample* const top = *std::ranges::min_element(candidates, {}, sort_key);
    RankSample found{rank, &node, top, {}};
    for (const ProcessSample* process : candidates) {
        if (process->is_python && process != top && is_below(node, *process, top->pid)) {
            found.workers.push_back(process);
        }
    }
    return found;
}

std::vector<std::uint32_t> missing_ranks(const Ranks& ranks) {
    constexpr std::uint64_t max_missing = 65'536;
    std::vector<std::uint32_t> missing;
    auto seen = ranks.seen.begin();
    for (std::uint32_t rank = 0; rank < ranks.expected && missing.size() < max_missing; ++rank) {
        while (seen != ranks.seen.end() && seen->rank < rank) ++seen;
        if (seen == ranks.seen.end() || seen->rank != rank) missing.push_back(rank);
    }
    return missing;
}

}  // namespace

const ProcessSample* find_process(const NodeSample& sample, pid_t pid) {
    const auto found = std::ranges::find(sample.processes, pid, &ProcessSample::pid);
    return found == sample.processes.end() ? nullptr : &*found;
}

bool is_below(const NodeSample& sample, const ProcessSample& process, pid_t top) {
    const ProcessSample* ancestor = &process;
    std::size_t steps =
        0;  // limited: pids are read at different times, so parents may form a cycle
    while (ancestor != nullptr && ancestor->parent != top && ++steps < sample.processes.size()) {
        ancestor = find_process(sample, ancestor->parent);
    }
    return ancestor != nullptr && ancestor->parent == top;
}

std::vector<std::string> launchers_of(const NodeSample& sample, const ProcessSample& process,
                                      pid_t first) {
    constexpr std::size_t max_launchers = 16;
    std::vector<std::string> launchers;
    const ProcessSample* ancestor = &process;
    while (ancestor->pid != first && launchers.size() < max_launchers) {
        ancestor = find_process(sample, ancestor->parent);
        if (ancestor == nullptr) break;
        launchers.push_back(formatted("{} {}", ancestor->pid, ancestor->command));
    }
    std::ranges::reverse(launchers);
    return launchers;
}

bool is_stopped_or_blocked(const ProcessSample& process) {
    return !process.moments.empty() &&
           std::string_view("TtD").find(process.moments.back().state) != std::string_view::npos;
}

bool is_alive(const ProcessSample& process) {
    const char state = process.moments.empty() ? 'X' : process.moments.back().state;
    return state != 'X' && state != 'Z';
}

Ranks find_ranks(std::span<const NodeSample> samples, std::uint32_t tasks, bool is_component) {
    const bool has_rank_variables = std::ranges::any_of(samples, [](const NodeSample& sample) {
        return std::ranges::any_of(sample.processes,
                                   [](const auto& process) { return process.rank.has_value(); });
    });
    Ranks ranks{.expected = tasks};
    for (const NodeSample& sample : samples) {
        std::map<std::uint32_t, Candidates> candidates_by_rank;
        for (const ProcessSample& process : sample.processes) {
            const auto rank = has_rank_variables ? process.rank : process.task;
            if (!rank || !is_alive(process)) continue;
            candidates_by_rank[*rank].push_back(&process);
            if (has_rank_variables && process.world_size) {
                ranks.expected = std::max<std::uint64_t>(ranks.expected, *process.world_size);
            }
        }
        for (const auto& [rank, candidates] : candidates_by_rank) {
            ranks.seen.push_back(sample_of_rank(rank, sample, candidates));
        }
    }
    std::ranges::stable_sort(ranks.seen, {}, &RankSample::rank);
    if (is_component) {
        ranks.expected = ranks.seen.size();
    } else {
        ranks.missing = missing_ranks(ranks);
    }
    return ranks;
}

}  // namespace distgpu
