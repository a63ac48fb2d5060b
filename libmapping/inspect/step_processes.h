// Which processes a step has on this node, and whose they are.
#pragma once

#include "inspect/look.h"
#include "inspect/step_tasks.h"

#include <vector>

namespace distgpu {

// Those that slurmstepd knows, and what descends from them: it may know the tasks alone. Up to 512,
// by their numbers, without moments and connections.
// A node has tens of ranks, and each some worker processes: where it has so many, some may be
// missing.
constexpr std::size_t most_processes = 512;

// The process by which `distgpu exec` learns of signals (tools/distgpu/exec/signal_witness.h),
// which is none of the step's.
inline constexpr const char* signal_witness_name = "distgpu-signals";

std::vector<ProcessLook> find_processes(const std::vector<StepProcess>& known);

}  // namespace distgpu
