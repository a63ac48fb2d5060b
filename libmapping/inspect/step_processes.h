// Finds the processes of a step on this node: those that slurmstepd knows, or that carry the step's
// marks, and their descendants.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "inspect/task_processes.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// Runs `scontrol listpids`, which asks slurmstepd through its socket: a few milliseconds, no RPC.
// `node`: this node, empty if its name is unknown. `step` begins with the job's number: "5.0",
// "5.batch", "5.0+1". Errors: no step of the job runs on this node; scontrol cannot be run.
Result<std::vector<StepProcess>> list_step_processes(const std::string& node,
                                                     const std::string& step,
                                                     const Environment& environment);

// The same without Slurm, for when it does not answer: this user's processes of which the variables
// SLURM_JOB_ID and SLURM_STEP_ID, or else the cgroup, are the step's. Empty if there are none, or
// if that takes longer than two seconds.
std::vector<StepProcess> find_without_slurm(const std::string& step);

// Whether the text of /proc/PID/cgroup names a cgroup of the step's tasks, such as
// "/slurm/uid_7/job_5/step_0/task_1" or "/system.slice/slurmstepd.scope/job_5/step_0/user/task_1".
bool is_in_cgroup_of(const std::string& step, std::string_view cgroups);

// Up to max_processes of them, sorted by pid, without moments and connections. If Slurm does not
// list them, the sample has the problem, and what find_without_slurm() found. Error:
// other_owner_error().
Result<NodeSample> find_step_processes(const std::string& node, const std::string& step,
                                       const Environment& environment);

// Refuses processes of other users, also for root: they could control what this process reads.
// nullopt if all tasks among them run as this process's user.
std::optional<Error> other_owner_error(const std::string& step,
                                       const std::vector<StepProcess>& processes);

// Parses what `scontrol listpids` prints for a job: a heading, then lines of PID, JOBID, STEPID,
// LOCALID and GLOBALID, or "-" for missing ones. Returns the processes of the step.
std::vector<StepProcess> parse_listpids(const std::string& step, std::string_view text);

}  // namespace distgpu
