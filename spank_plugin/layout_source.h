// slurmstepd: where the layout of the step comes from. What srun sent, else what the step's
// environment tells for certain, else what slurmctld answers: each node of a step decides alike.
// Whatever the source, it is held against what SPANK says of the step and of the tasks here.
#pragma once

#include "failure.h"
#include "identity.h"
#include "mapping/frameworks/framework.h"
#include "mapping/layout/step_layout.h"
#include "spank_access.h"

#include <tl/expected.hpp>

#include <cstdint>
#include <string>

namespace distgpu {

struct FoundLayout {
    StepLayout layout;
    // What srun sent with it.
    std::string rank0_address{};  // NodeAddr of rank 0's node; empty: not sent
    HostList node_addresses{};    // NodeAddr of every node; empty: not sent
    bool user_bound = false;      // the user gave srun --cpu-bind
    std::uint32_t gpus = 0;       // srun --gpus, of all nodes together; 0: not given
    TasksFrom tasks_from = TasksFrom::nodes;
    bool is_helper = false;
    bool sent_by_srun = false;  // srun knew the layout too
};

// So that slurmctld does not drown in the questions of the nodes of a step.
inline constexpr std::uint32_t most_asking_nodes = 64;

// In init_post_opt; may do an RPC, which user_init may not.
tl::expected<FoundLayout, Failure> find_layout(spank_t spank, const Identity& identity);

}  // namespace distgpu
