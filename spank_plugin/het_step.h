// The layout of a heterogeneous step. Its components are launched apart, SPANK
// numbers nodes and tasks within each, and what srun carries reaches one of them
// alone, whichever is launched first (22.05), so every node asks slurmctld.
#pragma once

#include "base/result.h"
#include "mapping/layout/step_layout.h"
#include "spank_access.h"

#include <cstdint>

namespace distgpu {

// The merged layout, components in order. `job` is this component's; `tasks` are all of the
// step. Does RPCs, up to 128: call it in init_post_opt, never in user_init, where Slurm from 23.02
// on dies of a lock held by its own thread. Error: slurmctld did not return a layout of so many
// tasks.
Result<StepLayout> query_het_layout(spank_t spank, std::uint32_t job, std::uint32_t step,
                                    std::uint32_t tasks);

}  // namespace distgpu
