// The options by which srun starts what another launcher started, in a job of so many tasks and
// CPUs. Each text is empty or ends with a blank.
#pragma once

#include "slurm/srun_line.h"

#include <cstdint>
#include <string>

namespace distgpu {

// "4" of --gpus-per-node=h100:4 or --gres=gpu:4; empty: not known.
std::string gpus_of(const StepOptions& job);

// One launcher on each node, whatever the job's tasks, with the CPUs of these.
std::string launchers_options(const StepOptions& job);

// A task for each of a node's GPUs, which share the CPUs of the job's tasks on it.
std::string ranks_options(std::uint32_t gpus, const StepOptions& job);

// As many tasks as a launcher of all nodes was told, in all and on each node; empty: it was not.
std::string tasks_options(const std::string& count, const std::string& each,
                          const StepOptions& job);

}  // namespace distgpu
