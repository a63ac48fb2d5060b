#include "inspect/ended.h"

#include "base/io/programs.h"

#include <algorithm>
#include <set>

namespace distgpu {
namespace {

std::set<std::uint32_t> running_tasks(const NodeSample& sample) {
    std::set<std::uint32_t> tasks;
    for (const ProcessSample& process : sample.processes) {
        if (process.task && is_alive(process)) tasks.insert(*process.task);
    }
    return tasks;
}

bool is_task_of(const NodeSample& sample, std::uint32_t task) {
    return std::ranges::count(sample.tasks, task) > 0;
}

// With one rank for each task, a rank that differs from its task belongs to a launcher or to an
// order of the nodes.
bool are_ranks_tasks(const Ranks& ranks, std::uint32_t tasks) {
    return ranks.expected == tasks && std::ranges::all_of(ranks.seen, [](const RankSample& seen) {
               return !seen.process->task || *seen.process->task == seen.rank;
           });
}

// If every node answered, the tasks that no node names are those of the nodes without a process.
bool belongs_to_empty_node(std::span<const NodeSample> samples, std::uint32_t task) {
    return std::ranges::any_of(samples, has_no_process) &&
           std::ranges::all_of(samples, [&](const NodeSample& sample) {
               return has_no_process(sample) ||
                      (!sample.tasks.empty() && !is_task_of(sample, task));
           });
}

// The only node without a process; empty if there are several.
std::string empty_node(std::span<const NodeSample> samples) {
    if (std::ranges::count_if(samples, has_no_process) != 1) return "";
    return std::ranges::find_if(samples, has_no_process)->node;
}

std::string ending_of(const std::vector<Zombie>& zombies, std::uint32_t task,
                      const std::string& node) {
    const auto zombie = std::ranges::find_if(
        zombies, [&](const Zombie& each) { return each.task == task && each.node == node; });
    return zombie == zombies.end() ? "" : zombie->how;
}

}  // namespace

JsonText zombie_json(const Zombie& zombie) {
    return {{"node", zombie.node}, {"pid", zombie.pid}, {"name", zombie.name}, {"how", zombie.how}};
}

std::vector<Zombie> find_zombies(std::span<const NodeSample> samples) {
    constexpr std::size_t max_zombies = 64;
    std::vector<Zombie> zombies;
    for (const NodeSample& sample : samples) {
        for (const ProcessSample& process : sample.processes) {
            if (!process.exit_code || zombies.size() == max_zombies) continue;
            zombies.push_back({sample.node, process.pid, process.name, process.task,
                               ending_text(*process.exit_code)});
        }
    }
    return zombies;
}

std::size_t ended_task_count(const NodeSample& sample) {
    const std::size_t running = running_tasks(sample).size();
    return sample.tasks.size() > running ? sample.tasks.size() - running : 0;
}

bool has_no_process(const NodeSample& sample) {
    return sample.processes.empty() && sample.problem.empty();
}

std::vector<MissingRank> describe_missing(std::span<const NodeSample> samples, const Ranks& ranks,
                                          std::uint32_t tasks, bool are_complete) {
    const bool has_tasks = are_ranks_tasks(ranks, tasks);
    const std::vector<Zombie> zombies = find_zombies(samples);
    std::vector<MissingRank> missing;
    for (const std::uint32_t rank : ranks.missing) {
        MissingRank& each = missing.emplace_back(MissingRank{rank});
        if (!has_tasks) continue;
        const auto sample = std::ranges::find_if(
            samples, [&](const NodeSample& node) { return is_task_of(node, rank); });
        if (sample != samples.end()) {
            const bool runs = running_tasks(*sample).contains(rank);
            each.state = runs ? MissingRank::State::task_runs : MissingRank::State::ended;
            each.node = sample->node;
            if (!runs) each.how = ending_of(zombies, rank, each.node);
        } else if (are_complete && belongs_to_empty_node(samples, rank)) {
            each.state = MissingRank::State::node_is_empty;
            each.node = empty_node(samples);
        }
    }
    return missing;
}

}  // namespace distgpu
