#include "component.h"

namespace distgpu {

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
