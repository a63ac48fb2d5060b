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

std::optional<ComponentOffset> offset_of(const ComponentTasks& component, LocalRank local,
                                         NodeIndex node, TaskId task) {
    const ComponentTaskId own = component.tasks[local.value];
    if (node.value < component.node.value || task.value < own.value) return std::nullopt;
    return ComponentOffset{node.value - component.node.value, task.value - own.value};
}

std::vector<ComponentOffset> possible_offsets(const StepLayout& whole,
                                              const ComponentTasks& component,
                                              const std::string& host) {
    std::vector<ComponentOffset> anywhere;
    std::vector<ComponentOffset> on_host;
    ComponentOffset before;
    while (component.node.value + before.nodes < whole.node_count()) {
        const LocalTasks here = in_step(component, before);
        if (!check_layout(whole, here)) {
            anywhere.push_back(before);
            if (whole.hosts().name(here.node) == host) on_host.push_back(before);
        }
        before.tasks += whole.tasks_on(NodeIndex{before.nodes});
        ++before.nodes;
    }
    return on_host.empty() ? anywhere : on_host;
}

LocalTasks in_step(const ComponentTasks& component, ComponentOffset before) {
    LocalTasks whole{NodeIndex{component.node.value + before.nodes}, {}};
    for (const ComponentTaskId task : component.tasks) {
        whole.tasks.push_back(TaskId{task.value + before.tasks});
    }
    return whole;
}

}  // namespace distgpu
