// What a process finds out about its node for the plan: as the plugin does, as far as Slurm's
// variables and the machine itself tell it.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "mapping/plan/plan.h"
#include "mapping/topology/topology.h"
#include "node/place.h"

#include <memory>
#include <string>
#include <vector>

namespace distgpu {

struct OwnNode {
    std::unique_ptr<const NodeTopology> topology;  // null: not known, or not needed
    NodeFacts facts;                               // points to it
    std::vector<Error> warnings;                   // what went wrong, and stays as it is
};

// CPUs are bound where Slurm's variables tell the masks of all the node's tasks
// (SLURM_CPU_BIND_LIST of mask_cpu, or no binding at all), GPUs where every task of the step sees
// all of the step's. Elsewhere they stay as they are. `command`: discovers the topology where none
// was saved.
OwnNode find_own_node(const Environment& environment, const Request& request, const Place& place,
                      const std::string& command);

// The masks in Slurm's list "0x3,0xC", one for each of `tasks`; empty: another number, or text.
std::vector<CpuSet> parse_masks(std::string_view list, std::size_t tasks);

}  // namespace distgpu
