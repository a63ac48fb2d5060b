// Asks Slurm for the layout of a step and for running steps. Uses its commands, because their
// output is the same in all releases, while the library's types change.
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
// SLURM_CONF of `environment`. Errors: as of run_command().
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

// ---- A running step of the user's, from slurmctld.

// A component of a heterogeneous job. Each has its own job number, which the ids of its steps have.
struct JobComponent {
    std::string leader;  // the first component's number, the only one that srun accepts
    std::string group;   // its number for srun's --het-group
};

struct RunningStep {
    std::string id;   // "5.0", "5.batch"; "5.0+1" if heterogeneous, "4_3.0" in a job array
    std::string job;  // the job's number, in an array too: slurmstepd accepts nothing else
    HostList nodes;
    std::uint32_t tasks = 0;
    std::optional<JobComponent> component{};

    std::string numeric_id() const { return job + id.substr(id.find('.')); }
    // Whether its ranks may be only a part of the world.
    bool is_component() const { return component || id.find('+') != std::string::npos; }
};

// `name`: JOB or JOB.STEP. JOB means the job's only step that srun started, or else the batch
// script's. Two RPCs, or three if the components of a heterogeneous step are listed under one id;
// gives up after 10 s each. Uses PATH and SLURM_CONF of `environment`.
// Errors (object: `name`): not the name of a step; scontrol does not answer; no such step is
// running, or several.
Result<RunningStep> find_running_step(const std::string& name, const Environment& environment);

// Cancels the step ("5.0"), after a pause in which srun can print earlier output. Errors: as for
// run_slurm_command().
Result<std::string> cancel_step(const std::string& step, const Environment& environment);

// Parses what `scontrol --oneliner show step JOB` prints. In an array, `job` is not the job's
// number yet. Up to Slurm 25.11 components of a heterogeneous step have different ids ("5.0+1").
std::vector<RunningStep> parse_steps(std::string_view text);

// Parses what `scontrol --json show step JOB` prints, where 26.05 tells the components apart. Empty
// for any other text.
std::vector<RunningStep> parse_steps_json(std::string_view text);

// The one of the steps that `name` means, as for find_running_step().
Result<RunningStep> choose_step(const std::string& name, std::vector<RunningStep> steps);

// Adds the job's number and its component, from what `squeue --format="%A %i"` prints: "7 4_3" for
// an array, "6 5+1" for a heterogeneous job. Returns the step unchanged if its job is not listed.
RunningStep with_job(RunningStep step, std::string_view text);

}  // namespace distgpu
