// How far two devices are from each other on PCI.
#pragma once

#include "mapping/topology/topology.h"

#include <hwloc.h>

namespace distgpu::discovery {

// Of two I/O objects, by the nearest bridge above both. Below another host bridge: NODE where the
// same NUMA nodes are near them, else SYS.
Distance pci_distance(hwloc_topology_t topology, hwloc_obj_t left, hwloc_obj_t right);

}  // namespace distgpu::discovery
