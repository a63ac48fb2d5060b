// Which processes a step has on this node, and whose they are.
#pragma once

#include "running/step_tasks.h"
#include "why/look.h"

#include <vector>

namespace distgpu {

// Those that slurmstepd knows, and what descends from them: it may know the tasks alone. Up to 512,
// by their numbers, without moments and connections.
// A node has tens of ranks, and each some worker processes: where it has so many, some may be
// missing.
constexpr std::size_t most_processes = 512;

std::vector<ProcessLook> find_processes(const std::vector<StepProcess>& known);

}  // namespace distgpu
