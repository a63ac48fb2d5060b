#include "inspect/ranks.h"

#include "base/format.h"
#include "base/values.h"

#include <algorithm>
#include <map>
#include <set>
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

struct Place {
    const NodeSample* node;
    const ProcessSample* process;
};

std::vector<SharedRank> shared_ranks(std::span<const NodeSample> samples) {
    std::map<std::uint32_t, std::set<std::uint32_t>> tasks_of;
    for (const NodeSample& sample : samples) {
        for (const ProcessSample& process : sample.processes) {
            if (process.rank && process.task && is_alive(process)) {
                tasks_of[*process.rank].insert(*process.task);
            }
        }
    }
    std::vector<SharedRank> shared;
    for (const auto& [rank, tasks] : tasks_of) {
        if (tasks.size() > 1) shared.push_back({rank, {tasks.begin(), tasks.end()}});
    }
    return shared;
}

// The hidden Python processes that are below no other hidden one and no rank, in the order of tasks
// and of their start.
std::vector<Place> hidden_processes(std::span<const NodeSample> samples) {
    std::vector<Place> hidden;
    for (const NodeSample& sample : samples) {
        for (const ProcessSample& process : sample.processes) {
            if (!process.is_hidden || !process.is_python || process.rank || !is_alive(process)) {
                continue;
            }
            const ProcessSample* const parent = find_process(sample, process.parent);
            if (parent == nullptr || !parent->is_hidden || !parent->is_python) {
                hidden.push_back({&sample, &process});
            }
        }
    }
    std::ranges::stable_sort(hidden, {}, [](const Place& place) {
        return std::tuple(place.process->task, place.process->begin, place.process->pid);
    });
    return hidden;
}

// Whether all tasks are launchers such as torchrun, whose workers have hidden their variables.
bool are_launchers(std::span<const NodeSample> samples) {
    std::set<std::uint32_t> tasks;
    std::set<std::uint32_t> launchers;
    for (const NodeSample& sample : samples) {
        for (const ProcessSample& process : sample.processes) {
            if (!process.task || !is_alive(process)) continue;
            tasks.insert(*process.task);
            if (process.is_hidden && process.is_python && !process.is_task) {
                launchers.insert(*process.task);
            }
        }
    }
    return !tasks.empty() && tasks == launchers;
}

// Workers of a rank without readable variables, which are not ranks themselves.
Candidates with_descendants(const Place& place) {
    Candidates candidates{place.process};
    for (const ProcessSample& process : place.node->processes) {
        if (is_alive(process) && is_below(*place.node, process, place.process->pid)) {
            candidates.push_back(&process);
        }
    }
    return candidates;
}

void add_hidden_ranks(std::span<const NodeSample> samples, Ranks& ranks) {
    const std::vector<Place> hidden = hidden_processes(samples);
    ranks.expected = std::max<std::uint64_t>(ranks.expected, ranks.seen.size() + hidden.size());
    std::ranges::stable_sort(ranks.seen, {}, &RankSample::rank);
    const std::vector<std::uint32_t> free = missing_ranks(ranks);
    for (std::size_t i = 0; i < hidden.size(); ++i) {
        const auto task = hidden[i].process->task;
        std::optional<std::uint32_t> rank;
        if (free.size() == hidden.size()) {
            rank = free[i];
        } else if (task && std::ranges::binary_search(free, *task) &&
                   std::ranges::count(ranks.seen, *task, &RankSample::rank) == 0) {
            rank = task;
        }
        if (rank) {
            ranks.seen.push_back(
                sample_of_rank(*rank, *hidden[i].node, with_descendants(hidden[i])));
        }
    }
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
    Ranks ranks{.shared = shared_ranks(samples), .expected = tasks};
    const bool has_variables = std::ranges::any_of(samples, [](const NodeSample& sample) {
        return std::ranges::any_of(sample.processes,
                                   [](const auto& process) { return process.rank.has_value(); });
    });
    const bool by_variable = ranks.shared.empty() && (has_variables || are_launchers(samples));
    for (const NodeSample& sample : samples) {
        std::map<std::uint32_t, Candidates> candidates_by_rank;
        for (const ProcessSample& process : sample.processes) {
            const auto rank = by_variable ? process.rank : process.task;
            if (!rank || !is_alive(process)) continue;
            candidates_by_rank[*rank].push_back(&process);
            if (by_variable && process.world_size) {
                ranks.expected = std::max<std::uint64_t>(ranks.expected, *process.world_size);
            }
        }
        for (const auto& [rank, candidates] : candidates_by_rank) {
            ranks.seen.push_back(sample_of_rank(rank, sample, candidates));
        }
    }
    if (by_variable) add_hidden_ranks(samples, ranks);
    std::ranges::stable_sort(ranks.seen, {}, &RankSample::rank);
    if (is_component) {
        ranks.expected = ranks.seen.size();
    } else {
        ranks.missing = missing_ranks(ranks);
    }
    return ranks;
}

}  // namespace distgpu
