// What a discovery reads: hwloc's topology and, of this machine, also /proc and /sys.
#pragma once

#include "mapping/topology/topology.h"
#include "node/machine.h"

#include <hwloc.h>

#include <string>
#include <vector>

namespace distgpu::discovery {

struct Source {
    hwloc_topology_t topology;
    const MachineRoots* roots;  // null: an XML, maybe of another machine
    std::vector<NumaNode> numas;
};

// A virtual function (SR-IOV) of a device that this machine has too: it is there for a virtual
// machine or a container, and the programs of this machine use the device itself. Within a virtual
// machine, which has the function alone, it is an ordinary device. False of an XML, which does not
// tell.
bool is_virtual_function(const Source& source, const std::string& pci);

}  // namespace distgpu::discovery
