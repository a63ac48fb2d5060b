// The machine's NUMA nodes and cores.
#pragma once

#include "mapping/topology/topology.h"

#include <hwloc.h>

#include <vector>

namespace distgpu::discovery {

// By number. Each CPU is in one node, as in Linux: hwloc gives the CPUs near a node that is memory
// alone (of a GPU, HBM) to that node too.
std::vector<NumaNode> numa_nodes(hwloc_topology_t topology);

// In hwloc's logical order. Where hwloc knows no cores, each CPU is one.
std::vector<Core> cores(hwloc_topology_t topology, const std::vector<NumaNode>& numas);

}  // namespace distgpu::discovery
