// The layout of a step of srun where its variables do not tell it: slurmctld's answer, by Slurm's
// command sattach. Its text is the same from 22.05 to 26.05, while the library's types change with
// each release.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "mapping/layout/step_layout.h"
#include "mapping/rendezvous/rendezvous.h"

#include <cstdint>
#include <functional>
#include <string_view>

namespace distgpu {

using StepQuery = std::function<Result<StepLayout>(const StepId& step)>;

// Each task asks for itself, and more would keep slurmctld from its work: 64 nodes of 8 GPUs.
inline constexpr std::uint32_t most_asking_tasks = 512;

// For a task of the step in question, whose environment also tells where sattach and slurm.conf
// are. One RPC, 10 ms; gives up after 10 s.
// Errors (object: the step): more tasks than that, no sattach here, slurmctld did not answer, or
// for a heterogeneous step.
StepQuery ask_slurm(const Environment& environment);

// What `sattach --layout` prints. Error: it is something else, such as the layout of a
// heterogeneous step, whose task ids are not unique.
Result<StepLayout> parse_sattach(std::string_view text);

}  // namespace distgpu
