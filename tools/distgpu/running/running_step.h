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
    std::string id;  // "5.0", "5.batch"
    HostList nodes;
    std::uint32_t tasks = 0;

    std::string job() const { return id.substr(0, id.find('.')); }
};

// `wanted`: JOB or JOB.STEP. Of a job its one step that srun started, else the batch script's. One
// RPC; gives up after 10 s. The environment tells where scontrol and slurm.conf are.
// Errors (object: `wanted`): not the name of a step; scontrol does not answer; no such step runs,
// or several.
Result<RunningStep> find_running_step(const std::string& wanted, const Environment& environment);

// The same of what `scontrol --oneliner show step` printed.
Result<RunningStep> choose_step(const std::string& wanted, std::string_view listed);

}  // namespace distgpu
