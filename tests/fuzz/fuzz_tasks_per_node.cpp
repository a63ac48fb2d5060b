// Counts of tasks per node, and the layouts that are made of them.
#include "mapping/layout/step_layout.h"
#include "plan_promises.h"
#include "require.h"
#include "target.h"

#include <cstdint>
#include <string>
#include <utility>

namespace distgpu {
namespace {

void require_inverse(const StepLayout& layout) {
    for (TaskId task{0}; task.value < layout.task_count(); ++task.value) {
        const Placement place = layout.place(task);
        require(layout.task(place.node, place.local_rank) == task, "task() undoes place()");
    }
}

}  // namespace

void try_text(std::string_view text) {
    const auto runs = parse_tasks_per_node(text);
    if (!runs) return require_line(runs.error().message());
    std::uint64_t nodes = 0;
    std::uint64_t tasks = 0;
    for (const TasksRun& run : *runs) {
        require(run.tasks > 0 && run.nodes > 0, "no zero count");
        nodes += run.nodes;
        tasks += std::uint64_t{run.tasks} * run.nodes;
    }
    require(nodes <= StepLayout::max_nodes, "no more nodes than the bound");
    require(tasks <= StepLayout::max_tasks, "no more tasks than the bound");
    using Kind = Distribution::Kind;
    for (const Distribution distribution :
         {Distribution{Kind::block, 0}, Distribution{Kind::cyclic, 0},
          Distribution{Kind::plane, 3}}) {
        auto hosts = HostList::parse("n[1-" + std::to_string(nodes) + "]");
        const auto layout = StepLayout::distribute(*std::move(hosts), *runs, distribution);
        // Cyclic over uneven counts takes a block a round.
        require(layout || distribution.kind != Kind::block, "counts for every host make a layout");
        if (!layout) continue;
        require(layout->task_count() == tasks, "every task is placed");
        if (!is_small(*layout)) continue;
        require_inverse(*layout);
        require_complete_plans({*layout}, {});
    }
}

}  // namespace distgpu
