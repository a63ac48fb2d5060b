// How tasks are numbered in a framework's world.
#pragma once

#include "mapping/layout/ids.h"
#include "mapping/layout/step_layout.h"

namespace distgpu {

// The framework rank of a task: Slurm's own task order, but for an order of the nodes.
GlobalRank rank_of(const StepLayout& layout, TaskId task);

// Its inverse: the task that has the rank.
TaskId task_of(const StepLayout& layout, GlobalRank rank);

// The node that runs rank 0: its MASTER_ADDR is everybody's.
NodeIndex rank0_node(const StepLayout& layout);

}  // namespace distgpu
