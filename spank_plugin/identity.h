// Who this node is, and who a task on it: what SPANK's items say, and of a heterogeneous step its
// layout. A variable of a task is believed only where both leave several answers.
#pragma once

#include "base/result.h"
#include "component.h"
#include "spank_access.h"

#include <cstdint>
#include <vector>

namespace distgpu {

struct Identity {
    std::uint32_t job = 0;  // of a heterogeneous job: this component's
    std::uint32_t step = 0;
    StepSize size;  // of a heterogeneous step: this component's
    bool heterogeneous = false;
    ComponentTasks component;

    // The node in the whole step. Precondition: not heterogeneous.
    LocalTasks whole() const { return in_step(component, {}); }
};

// In init_post_opt.
Identity read_identity(spank_t spank, std::uint32_t step);

struct TaskIdentity {
    LocalTasks node;  // in the whole step
    LocalRank local;

    TaskId task() const { return node.tasks[local.value]; }
};

// In task_init. `offsets`: where this component can stand in the whole step. Several of them are
// told apart by what Slurm set in the task's environment, unless a container is put over it.
// Errors: Slurm does not tell which task this is.
Result<TaskIdentity> read_task_identity(spank_t spank, const Identity& identity,
                                        const std::vector<ComponentOffset>& offsets,
                                        bool in_container);

// Gives the task Slurm's own numbers again, over a container's.
void set_slurm_numbers(spank_t spank, const TaskIdentity& task);

}  // namespace distgpu
