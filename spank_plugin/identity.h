// Who this node is, and who a task on it: what SPANK's items say. A variable is believed only where
// SPANK is silent, of the components before this one of a heterogeneous step.
#pragma once

#include "base/result.h"
#include "component.h"
#include "spank_access.h"

#include <cstdint>

namespace distgpu {

struct Identity {
    std::uint32_t job = 0;  // of a heterogeneous job: this component's
    std::uint32_t step = 0;
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
};

// In task_init. Errors: Slurm does not tell which task this is.
Result<TaskIdentity> read_task_identity(spank_t spank, const Identity& identity);

}  // namespace distgpu
