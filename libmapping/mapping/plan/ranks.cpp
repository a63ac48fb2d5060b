// See ranks.h.
#include "mapping/plan/ranks.h"

namespace distgpu {

GlobalRank rank_of(TaskId task) {
    return GlobalRank{task.value};
}

TaskId task_of(GlobalRank rank) {
    return TaskId{rank.value};
}

NodeRank node_rank_of(const StepLayout& layout, NodeIndex node) {
    // The ranks are the task ids, and a node's first task has its lowest.
    return NodeRank{layout.nodes_before(layout.task(node, LocalRank{0}))};
}

NodeIndex rank0_node(const StepLayout& layout) {
    return layout.place(TaskId{0}).node;
}

}  // namespace distgpu
