// A task's variables beside what Slurm says of it.
#pragma once

#include "base/environment.h"
#include "check/finding.h"
#include "node/own_task.h"

namespace distgpu {

// What is missing, left over or another rank than Slurm's.
Findings check_variables(const Environment& environment, const OwnTask& own);

// Of a task that srun asked the plugin to prepare, on a node whose slurmd has not loaded it.
Error no_plugin(const Environment& environment);

// Whether the task's CPUs are enough for what it was given and told to start.
Findings check_cpus(const Environment& environment, const CpuSet& cpus);

}  // namespace distgpu
