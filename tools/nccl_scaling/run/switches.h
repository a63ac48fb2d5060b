// The switches above the nodes as slurmctld tells them, for nodes whose ranks have no
// SLURM_TOPOLOGY_ADDR.
#pragma once

#include "base/environment.h"
#include "results/results.h"

#include <string_view>
#include <vector>

namespace distgpu::scaling {

// Asks slurmctld where a node has no switches: one RPC, 10 ms; gives up after 5 s. Outside of a job
// of Slurm nobody is asked. Without an answer the nodes stay as they are.
void find_switches(std::vector<Node>& nodes, const Environment& environment);

// Gives nodes without switches those of `topology`, which is what `scontrol show topology` prints
// of topology/tree (SwitchName=) and topology/block (BlockName=), as SLURM_TOPOLOGY_ADDR has them.
// Other lines are skipped.
void add_switches(std::vector<Node>& nodes, std::string_view topology);

}  // namespace distgpu::scaling
