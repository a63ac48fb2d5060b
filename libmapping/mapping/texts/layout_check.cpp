#include "mapping/texts/layout_check.h"

#include "base/format.h"
#include "mapping/texts/variables.h"

#include <utility>

namespace distgpu {
namespace {

Error differs(std::string problem) {
    return {"task map", std::move(problem), formatted("run again without {}", sent_variable)};
}

}  // namespace

std::optional<Error> check_size(const StepLayout& layout, StepSize started) {
    if (layout.node_count() == started.nodes && layout.task_count() == started.tasks) {
        return std::nullopt;
    }
    return differs(formatted("{} tasks on {} nodes, but Slurm started {} on {}",
                             layout.task_count(), layout.node_count(), started.tasks,
                             started.nodes));
}

std::optional<Error> check_layout(const StepLayout& layout, const LocalTasks& started) {
    if (started.node.value >= layout.node_count()) {
        return differs(formatted("{} nodes, but Slurm started a task on node number {}",
                                 layout.node_count(), started.node.value));
    }
    const std::string name = layout.hosts().name(started.node);
    const std::vector<TaskId> planned = layout.task_ids(started.node);
    if (planned.size() != started.tasks.size()) {
        return differs(formatted("{} tasks on {}, but Slurm started {}", planned.size(), name,
                                 started.tasks.size()));
    }
    for (std::size_t local = 0; local < planned.size(); ++local) {
        if (planned[local] == started.tasks[local]) continue;
        return differs(formatted("task {} has local rank {} on {}, but Slurm started task {}",
                                 planned[local].value, local, name, started.tasks[local].value));
    }
    return std::nullopt;
}

}  // namespace distgpu
