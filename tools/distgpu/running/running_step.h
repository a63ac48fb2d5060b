// A running step of the user's, as slurmctld knows it.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "mapping/layout/hostlist.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace distgpu {

struct RunningStep {
    std::string id;   // "5.0", "5.batch"; of a heterogeneous step "5.0+1", of a job array "4_3.0"
    std::string job;  // its job's number, also of an array's: srun and slurmstepd know no other
    HostList nodes;
    std::uint32_t tasks = 0;

    std::string numbered() const { return job + id.substr(id.find('.')); }
    bool is_component() const { return id.find('+') != std::string::npos; }
};

// `wanted`: JOB or JOB.STEP. Of a job its one step that srun started, else the batch script's. One
// RPC, and another of an array's job; gives up after 10 s each. The environment tells where Slurm's
// commands and slurm.conf are.
// Errors (object: `wanted`): not the name of a step; scontrol does not answer; no such step runs,
// or several.
Result<RunningStep> find_running_step(const std::string& wanted, const Environment& environment);

// The same of what `scontrol --oneliner show step JOB` printed. `job` is not yet a number where the
// step is of an array.
Result<RunningStep> choose_step(const std::string& wanted, std::string_view listed);

}  // namespace distgpu
