// See ranks.h.
#include "mapping/plan/ranks.h"

namespace distgpu {

GlobalRank rank_of(TaskId task) {
    return GlobalRank{task.value};
}

TaskId task_of(GlobalRank rank) {
    return TaskId{rank.value};
}

NodeRank node_rank_of(const Framework& framework, NodeIndex node, GlobalRank rank) {
    // A launcher is its node's only task, so its rank numbers the node.
    return NodeRank{framework.launcher_per_node ? rank.value : node.value};
}

NodeIndex rank0_node(const StepLayout& layout) {
    return layout.place(TaskId{0}).node;
}

}  // namespace distgpu
