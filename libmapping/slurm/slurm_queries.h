// Runs Slurm's commands, whose output is the same in all releases, while the library's types
// change; and asks them for the layout of a step.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "mapping/layout/hostlist.h"
#include "mapping/layout/step_layout.h"
#include "mapping/rendezvous/rendezvous.h"

#include <chrono>
#include <functional>

namespace distgpu {

// Runs a command (its name, then its arguments) and returns what it prints. Uses PATH and
// SLURM_CONF of `environment`. Errors (object: the command without its path): it is in no folder of
// PATH that answers (find_programs()), and as of run_command().
Result<std::string> run_slurm_command(const Environment& environment,
                                      const std::vector<std::string>& command,
                                      std::chrono::milliseconds time_limit);

// ---- The layout of an srun step whose variables do not determine it, from sattach.

using StepQuery = std::function<Result<StepLayout>(const StepId& step)>;

// Every task makes its own query, and more would overload slurmctld: 64 nodes of 8 GPUs.
inline constexpr std::uint32_t max_querying_tasks = 512;

// For a task of the step, with the task's environment. One RPC, 10 ms; gives up after 10 s.
// Errors (object: the step): too many tasks; no sattach; no answer; the step is heterogeneous.
StepQuery layout_query(const Environment& environment);

// Parses what `sattach --layout` prints. Error: any other text, such as the layout of a
// heterogeneous step, whose task ids are not unique.
Result<StepLayout> parse_sattach(std::string_view text);

// Cancels the step ("5.0"), after a pause in which srun can print earlier output. Errors: as for
// run_slurm_command().
Result<std::string> cancel_step(const std::string& step, const Environment& environment);

}  // namespace distgpu
