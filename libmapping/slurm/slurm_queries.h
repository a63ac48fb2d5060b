// Asks Slurm by its commands, whose text stays the same from release to release while the library's
// types change: the layout of a step, and which steps run.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "mapping/layout/hostlist.h"
#include "mapping/layout/step_layout.h"
#include "mapping/rendezvous/rendezvous.h"

#include <chrono>
#include <functional>

namespace distgpu {

// What the command (its name, then its arguments) prints. The task's environment tells where the
// command and slurm.conf are.
// Errors: as of run_command().
Result<std::string> run_slurm_command(const Environment& environment,
                                      const std::vector<std::string>& command,
                                      std::chrono::milliseconds time_limit);

// ---- The layout of a step of srun where its variables do not tell it, by sattach.

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

// ---- A running step of the user's, as slurmctld knows it.

// Of a heterogeneous job, each component of which has a number, and a step on it that number's id.
struct JobComponent {
    std::string leader;  // the first component's number, by which alone srun knows the job
    std::string group;   // as srun's --het-group counts them
};

struct RunningStep {
    std::string id;   // "5.0", "5.batch"; of a heterogeneous step "5.0+1", of a job array "4_3.0"
    std::string job;  // its job's number, also of an array's: slurmstepd knows no other
    HostList nodes;
    std::uint32_t tasks = 0;
    std::optional<JobComponent> component{};

    std::string numbered() const { return job + id.substr(id.find('.')); }
    // Its ranks may be some of a larger world's.
    bool is_component() const { return component || id.find('+') != std::string::npos; }
};

// `wanted`: JOB or JOB.STEP. Of a job its one step that srun started, else the batch script's. Two
// RPCs, a third where components of a heterogeneous step are listed under one id; gives up after 10
// s each. The environment tells where Slurm's commands and slurm.conf are.
// Errors (object: `wanted`): not the name of a step; scontrol does not answer; no such step runs,
// or several.
Result<RunningStep> find_running_step(const std::string& wanted, const Environment& environment);

// Ends it ("5.0") once what was said before is shown. Errors: as of run_slurm_command().
Result<std::string> cancel_step(const std::string& step, const Environment& environment);

// What `scontrol --oneliner show step JOB` printed. `job` is not yet a number where the step is of
// an array. Components of a heterogeneous step have ids of their own ("5.0+1") up to Slurm 25.11.
std::vector<RunningStep> running_steps(std::string_view listed);

// What `scontrol --json show step JOB` printed: there 26.05 tells the components apart. None: it is
// not that JSON.
std::vector<RunningStep> running_steps_of_json(std::string_view listed);

// Which of them `wanted` names, as find_running_step() says.
Result<RunningStep> choose_step(const std::string& wanted, std::vector<RunningStep> steps);

// With the job's number, and its component, of what `squeue --format="%A %i"` printed of it: "7
// 4_3" of an array, "6 5+1" of a heterogeneous job. A job that is not listed stays as it is.
RunningStep with_job(RunningStep step, std::string_view listed);

}  // namespace distgpu
