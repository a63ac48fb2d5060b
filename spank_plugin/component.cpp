// See component.h.
#include "component.h"

namespace distgpu {

std::optional<ComponentOffset> offset_of(const ComponentTasks& component, LocalRank local,
                                         NodeIndex node, TaskId task) {
    const ComponentTaskId own = component.tasks[local.value];
    if (node.value < component.node.value || task.value < own.value) return std::nullopt;
    return ComponentOffset{node.value - component.node.value, task.value - own.value};
}

LocalTasks in_step(const ComponentTasks& component, ComponentOffset before) {
    LocalTasks whole{NodeIndex{component.node.value + before.nodes}, {}};
    for (const ComponentTaskId task : component.tasks) {
        whole.tasks.push_back(TaskId{task.value + before.tasks});
    }
    return whole;
}

}  // namespace distgpu
