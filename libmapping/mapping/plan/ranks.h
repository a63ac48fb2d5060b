// How tasks and nodes are numbered in a framework's world.
#pragma once

#include "mapping/layout/ids.h"
#include "mapping/layout/step_layout.h"

namespace distgpu {

// Nodes are counted by their lowest rank: that of rank 0 is 0, whichever the node list names first.
NodeRank node_rank_of(const StepLayout& layout, NodeIndex node);

// The framework rank of a task. Today Slurm's own task order.
GlobalRank rank_of(TaskId task);

// Its inverse: the task that has the rank.
TaskId task_of(GlobalRank rank);

// The node that runs rank 0: its MASTER_ADDR is everybody's.
NodeIndex rank0_node(const StepLayout& layout);

}  // namespace distgpu
