// slurmstepd: where the layout of the step comes from. What srun sent, else what the step's
// environment tells for certain, else what slurmctld answers: each node of a step decides alike.
// Whatever the source, it is held against what SPANK says of the step and of the tasks here.
#pragma once

#include "base/result.h"
#include "identity.h"
#include "mapping/layout/step_layout.h"
#include "mapping/texts/sent_step.h"
#include "spank_access.h"

#include <cstdint>
#include <optional>

namespace distgpu {

// So that slurmctld does not drown in the questions of the nodes of a step.
inline constexpr std::uint32_t most_asking_nodes = 64;

// In init_post_opt, where alone an RPC is allowed, as root: what slurmctld answers the step's user.
// Nothing: nobody has to ask, as far as two numbers of tasks and single words show; root reads no
// more of what a user can forge.
std::optional<Result<StepLayout>> ask_for_layout(spank_t spank, const Identity& identity);

// What srun sent for this step; empty: nothing. Error: not what srun sends.
Result<SentStep> read_sent_step(spank_t spank, const Identity& identity);

// In user_init. `answer`: that of ask_for_layout(). Takes the layout out of `sent`.
// Errors: the answer's; a layout that is not the one that Slurm started.
Result<StepLayout> find_layout(spank_t spank, const Identity& identity, SentStep& sent,
                               std::optional<Result<StepLayout>> answer);

}  // namespace distgpu
