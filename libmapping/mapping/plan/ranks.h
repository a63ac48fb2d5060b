// How tasks and nodes are numbered in a framework's world.
#pragma once

#include "mapping/frameworks/framework.h"
#include "mapping/layout/ids.h"
#include "mapping/layout/step_layout.h"

namespace distgpu {

// The rank that a framework gives the task's node.
NodeRank node_rank_of(const Framework& framework, NodeIndex node, GlobalRank rank);

// The framework rank of a task. Today Slurm's own task order.
GlobalRank rank_of(TaskId task);

// Its inverse: the task that has the rank.
TaskId task_of(GlobalRank rank);

// The node that runs rank 0: its MASTER_ADDR is everybody's.
NodeIndex rank0_node(const StepLayout& layout);

}  // namespace distgpu
