// The processes of a step on this node, as slurmstepd knows them.
#pragma once

#include "base/environment.h"
#include "base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace distgpu {

struct StepProcess {
    pid_t pid = 0;
    std::optional<std::uint32_t> rank{};  // Slurm's, of a task's first process

    bool operator==(const StepProcess&) const = default;
};

// On `node`, which is this one: empty where its name is not known. By `scontrol listpids`, which
// asks slurmstepd through its socket: no RPC, and a few milliseconds. `step`: with its job's
// number, as in "5.0", "5.batch", "5.0+1". Errors: no step of the job runs on this node; scontrol
// cannot be run.
Result<std::vector<StepProcess>> list_step_processes(const std::string& node,
                                                     const std::string& step,
                                                     const Environment& environment);

// Why this process must not look at them: tasks among them run as another user, whose processes
// could choose what it reads. root is no exception.
std::optional<Error> owned_by_another(const std::string& step,
                                      const std::vector<StepProcess>& processes);

// Those of the step in what it prints of a job: a heading, then PID, JOBID, STEPID, LOCALID,
// GLOBALID, "-" where there is none.
std::vector<StepProcess> parse_listpids(const std::string& step, std::string_view text);

}  // namespace distgpu
