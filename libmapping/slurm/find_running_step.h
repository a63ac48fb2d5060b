// Finds the running step that a user means, by the name of a job or step, or without one. Asks
// slurmctld about the job and then its steps; about a job that has ended, Slurm's accounting.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "slurm/job_state.h"
#include "slurm/running_step.h"

#include <optional>
#include <string>

namespace distgpu {

struct FoundStep {
    std::string job;    // as squeue shows it, but "13" for all of a heterogeneous job
    std::string user;   // who owns the job
    std::string state;  // the job's, in lower case: "running", "pending", "completed"
    std::optional<RunningStep> step{};
    std::string sentence{};  // without a step: why there is none to sample
};

// `name`: of a job or step (StepName), or empty for the job around this process, or else the user's
// only job that runs, or only job. Two RPCs: the job, and its steps; one more for each other
// component of a heterogeneous job, if the name is empty, or if 26.05 lists the components of a
// heterogeneous step under one id; and one of slurmdbd if the job or step has ended. Gives up
// after 10 s each. Uses PATH and SLURM_CONF of `environment`.
// Errors (object: `name`): it is no name, no such job or step is known, or several are meant, and
// which ones; Slurm does not answer.
Result<FoundStep> find_step(const std::string& name, const Environment& environment);

// The step, for a caller that needs one. Error: also if it does not run.
Result<RunningStep> find_running_step(const std::string& name, const Environment& environment);

// The cluster's name, for a result: in a job from its variables, else one RPC. Empty if unknown.
std::string cluster_name(const Environment& environment);

}  // namespace distgpu
