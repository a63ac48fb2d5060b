// Dealing tasks to nodes as Slurm does for block, cyclic and plane.
#include "base/format.h"
#include "mapping/layout/step_layout.h"
#include "task_map.h"

#include <algorithm>
#include <string>
#include <utility>

namespace distgpu {

namespace {

// Consecutive nodes that still take equally many tasks.
struct OpenNodes {
    std::uint32_t node = 0;
    std::uint32_t nodes = 0;
    std::uint32_t remaining = 0;
};

Error bad_counts(std::string problem, std::string remedy) {
    return {.object = "tasks per node", .problem = std::move(problem), .remedy = std::move(remedy)};
}

Result<std::vector<OpenNodes>> check_counts(std::span<const TasksRun> counts,
                                            const HostList& hosts) {
    std::vector<OpenNodes> open;
    std::uint64_t nodes = 0;
    std::uint64_t tasks = 0;
    for (const auto& run : counts) {
        if (run.tasks == 0 || run.nodes == 0) {
            return bad_counts(formatted("{} tasks on {} nodes", run.tasks, run.nodes),
                              "each node needs at least one task");
        }
        open.push_back({.node = static_cast<std::uint32_t>(nodes),
                        .nodes = run.nodes,
                        .remaining = run.tasks});
        nodes += run.nodes;
        tasks += std::uint64_t{run.tasks} * run.nodes;
        if (nodes > hosts.size()) break;
        if (tasks > StepLayout::max_tasks) {
            return bad_counts(formatted("more than {} tasks", StepLayout::max_tasks),
                              "check the counts");
        }
    }
    if (nodes != hosts.size()) {
        return bad_counts(formatted("counts for {}{} nodes, but the host list has {}",
                                    nodes > hosts.size() ? "at least " : "", nodes, hosts.size()),
                          "give one count per host");
    }
    return open;
}

// Deals `rounds` rounds of `a_round` tasks to each node, or one round of what
// remains where that is less. Precondition: rounds is 1, or every node takes
// that many full rounds. Returns whether the map stayed within its bound.
bool deal(std::vector<OpenNodes>& open, std::uint32_t a_round, std::uint32_t rounds,
          layout::TaskMapBuilder& map) {
    layout::TaskMapBuilder one_round;
    for (const auto& stretch : open) {
        one_round.add({.node = stretch.node,
                       .nodes = stretch.nodes,
                       .tasks_per_node = std::min(a_round, stretch.remaining),
                       .repeat = 1});
    }
    if (!map.add_rounds(std::move(one_round).take(), rounds)) return false;
    for (auto& stretch : open) {
        stretch.remaining -= std::min(a_round, stretch.remaining) * rounds;
    }
    std::erase_if(open, [](const OpenNodes& stretch) { return stretch.remaining == 0; });
    return true;
}

}  // namespace

Result<StepLayout> StepLayout::distribute(HostList hosts, std::span<const TasksRun> tasks_per_node,
                                          Distribution distribution) {
    if (hosts.empty() || hosts.size() > max_nodes) {
        return bad_counts(formatted("a host list of {} nodes", hosts.size()),
                          formatted("name 1 to {} hosts", max_nodes));
    }
    auto open = check_counts(tasks_per_node, hosts);
    if (!open) return open.error();
    // Block is a plane that no node fills.
    std::uint32_t a_round = max_tasks;
    if (distribution.kind == Distribution::Kind::cyclic) a_round = 1;
    if (distribution.kind == Distribution::Kind::plane) a_round = distribution.plane_size;
    if (a_round == 0) {
        return Error{.object = "plane size",
                     .problem = "0 tasks per round",
                     .remedy = "give at least 1, such as plane=4"};
    }
    layout::TaskMapBuilder map;
    while (!open->empty()) {
        const auto least =
            std::min_element(open->begin(), open->end(), [](const auto& a, const auto& b) {
                return a.remaining < b.remaining;
            })->remaining;
        if (!deal(*open, a_round, std::max(1U, least / a_round), map)) {
            return layout::too_many_blocks();
        }
    }
    return assemble(std::move(hosts), std::move(map).take());
}

}  // namespace distgpu
