#include "mapping/plan/ranks.h"

namespace distgpu {

GlobalRank rank_of(const StepLayout& layout, TaskId task) {
    const Placement place = layout.place(task);
    return layout.rank(place.node, place.local_rank);
}

TaskId task_of(const StepLayout& layout, GlobalRank rank) {
    const Placement place = layout.place(rank);
    return layout.task(place.node, place.local_rank);
}

NodeIndex rank0_node(const StepLayout& layout) {
    return layout.place(GlobalRank{0}).node;
}

}  // namespace distgpu
