// Which of the processes seen are the step's ranks, and what is above them.
#include "base/format.h"
#include "base/values.h"
#include "inspect/look.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace distgpu {
namespace {

using Candidates = std::vector<const ProcessLook*>;

// Python comes first, then what is no shell or launcher, then the eldest; of those that began in
// the same tick the one with the lower number, as a parent has it.
auto order(const ProcessLook* process) {
    constexpr std::string_view launchers =
        "bash dash distgpu env mpirun nice numactl orted sh slurm_script time timeout";
    return std::tuple(!process->is_python, has_word(launchers, process->name), process->begin,
                      process->pid);
}

RankLook rank_of(std::uint32_t rank, const NodeLook& node, const Candidates& candidates) {
    const ProcessLook* const top = *std::ranges::min_element(candidates, {}, order);
    RankLook found{rank, &node, top, {}};
    for (const ProcessLook* process : candidates) {
        if (process->is_python && process != top && is_below(node, *process, top->pid)) {
            found.workers.push_back(process);
        }
    }
    return found;
}

std::vector<std::uint32_t> missing_of(const Ranks& ranks) {
    constexpr std::uint64_t most = 65'536;
    std::vector<std::uint32_t> missing;
    auto seen = ranks.seen.begin();
    for (std::uint32_t rank = 0; rank < ranks.expected && missing.size() < most; ++rank) {
        while (seen != ranks.seen.end() && seen->rank < rank) ++seen;
        if (seen == ranks.seen.end() || seen->rank != rank) missing.push_back(rank);
    }
    return missing;
}

}  // namespace

const ProcessLook* find_process(const NodeLook& look, pid_t pid) {
    const auto found = std::ranges::find(look.processes, pid, &ProcessLook::pid);
    return found == look.processes.end() ? nullptr : &*found;
}

bool is_below(const NodeLook& look, const ProcessLook& process, pid_t top) {
    const ProcessLook* at = &process;
    std::size_t steps = 0;  // up a chain that may go round: pids are read at different times
    while (at != nullptr && at->parent != top && ++steps < look.processes.size()) {
        at = find_process(look, at->parent);
    }
    return at != nullptr && at->parent == top;
}

std::vector<std::string> launchers_of(const NodeLook& look, const ProcessLook& process,
                                      pid_t first) {
    constexpr std::size_t most = 16;
    std::vector<std::string> launchers;
    const ProcessLook* at = &process;
    while (at->pid != first && launchers.size() < most) {
        at = find_process(look, at->parent);
        if (at == nullptr) break;
        launchers.push_back(formatted("{} {}", at->pid, at->command));
    }
    std::ranges::reverse(launchers);
    return launchers;
}

bool stands(const ProcessLook& process) {
    return !process.moments.empty() &&
           std::string_view("TtD").find(process.moments.back().state) != std::string_view::npos;
}

bool is_there(const ProcessLook& process) {
    const char state = process.moments.empty() ? 'X' : process.moments.back().state;
    return state != 'X' && state != 'Z';
}

Ranks find_ranks(std::span<const NodeLook> looks, std::uint32_t tasks, bool is_component) {
    const bool by_variable = std::ranges::any_of(looks, [](const NodeLook& look) {
        return std::ranges::any_of(look.processes,
                                   [](const auto& process) { return process.rank.has_value(); });
    });
    Ranks ranks{.expected = tasks};
    for (const NodeLook& look : looks) {
        std::map<std::uint32_t, Candidates> of_rank;
        for (const ProcessLook& process : look.processes) {
            const auto rank = by_variable ? process.rank : process.task;
            if (!rank || !is_there(process)) continue;
            of_rank[*rank].push_back(&process);
            if (by_variable && process.world_size) {
                ranks.expected = std::max<std::uint64_t>(ranks.expected, *process.world_size);
            }
        }
        for (const auto& [rank, candidates] : of_rank) {
            ranks.seen.push_back(rank_of(rank, look, candidates));
        }
    }
    std::ranges::stable_sort(ranks.seen, {}, &RankLook::rank);
    if (is_component) {
        ranks.expected = ranks.seen.size();
    } else {
        ranks.missing = missing_of(ranks);
    }
    return ranks;
}

}  // namespace distgpu
