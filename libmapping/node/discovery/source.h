// What a discovery reads: hwloc's topology and, of this machine, also /proc and /sys.
#pragma once

#include "mapping/topology/topology.h"
#include "node/machine.h"

#include <hwloc.h>

#include <vector>

namespace distgpu::discovery {

struct Source {
    hwloc_topology_t topology;
    const MachineRoots* roots;  // null: an XML, maybe of another machine
    std::vector<NumaNode> numas;
};

}  // namespace distgpu::discovery
