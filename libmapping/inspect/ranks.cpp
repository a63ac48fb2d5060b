#include "inspect/ranks.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

namespace distgpu {
namespace {

using Candidates = std::vector<const ProcessLook*>;

bool starts_others(const ProcessLook& process) {
    constexpr std::array<std::string_view, 12> names{
        "bash",    "dash",  "distgpu", "env",          "mpirun", "nice",
        "numactl", "orted", "sh",      "slurm_script", "time",   "timeout"};
    return std::find(names.begin(), names.end(), process.name) != names.end();
}

// The eldest comes first; of those that began in the same tick the one with the lower number, as
// a parent has it.
bool is_rather(const ProcessLook* left, const ProcessLook* right) {
    const auto order = [](const ProcessLook& process) {
        return std::tuple(!process.is_python, starts_others(process), process.begin, process.pid);
    };
    return order(*left) < order(*right);
}

bool is_below(const ProcessLook& process, const ProcessLook& top, const Candidates& all) {
    const ProcessLook* at = &process;
    for (std::size_t steps = 0; steps < all.size(); ++steps) {
        if (at->parent == top.pid) return true;
        const auto parent = std::find_if(all.begin(), all.end(), [&](const ProcessLook* other) {
            return other->pid == at->parent;
        });
        if (parent == all.end()) return false;
        at = *parent;
    }
    return false;
}

RankLook rank_of(std::uint32_t rank, const NodeLook& node, const Candidates& candidates) {
    const ProcessLook* const top =
        *std::min_element(candidates.begin(), candidates.end(), is_rather);
    RankLook found{rank, &node, top, {}};
    for (const ProcessLook* process : candidates) {
        if (process->is_python && process != top && is_below(*process, *top, candidates)) {
            found.workers.push_back(process);
        }
    }
    return found;
}

}  // namespace

bool is_there(const ProcessLook& process) {
    const char state = process.moments.empty() ? 'X' : process.moments.back().state;
    return state != 'X' && state != 'Z';
}

Ranks find_ranks(const std::vector<NodeLook>& looks, std::uint32_t tasks, bool is_component) {
    const auto any_rank = [](const NodeLook& look) {
        return std::any_of(look.processes.begin(), look.processes.end(),
                           [](const ProcessLook& process) { return process.rank.has_value(); });
    };
    const bool by_variable = std::any_of(looks.begin(), looks.end(), any_rank);
    Ranks ranks;
    ranks.expected = tasks;
    for (const NodeLook& look : looks) {
        std::map<std::uint32_t, Candidates> of_rank;
        for (const ProcessLook& process : look.processes) {
            const auto rank = by_variable ? process.rank : process.task;
            if (!rank || !is_there(process)) continue;
            of_rank[*rank].push_back(&process);
            if (by_variable) {
                ranks.expected =
                    std::max<std::uint64_t>(ranks.expected, process.world_size.value_or(0));
            }
        }
        for (const auto& [rank, candidates] : of_rank) {
            ranks.seen.push_back(rank_of(rank, look, candidates));
        }
    }
    std::sort(ranks.seen.begin(), ranks.seen.end(),
              [](const RankLook& left, const RankLook& right) { return left.rank < right.rank; });
    if (is_component) {
        ranks.expected = ranks.seen.size();
        return ranks;
    }
    constexpr std::uint64_t most_missing = 65'536;
    auto seen = ranks.seen.begin();
    for (std::uint32_t rank = 0; rank < ranks.expected && ranks.missing.size() < most_missing;
         ++rank) {
        while (seen != ranks.seen.end() && seen->rank < rank) ++seen;
        if (seen == ranks.seen.end() || seen->rank != rank) ranks.missing.push_back(rank);
    }
    return ranks;
}

}  // namespace distgpu
