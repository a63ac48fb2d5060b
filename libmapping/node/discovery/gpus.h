// The machine's GPUs: which of its PCI devices are some.
#pragma once

#include "mapping/topology/topology.h"
#include "node/discovery/source.h"

#include <hwloc.h>

#include <vector>

namespace distgpu::discovery {

struct FoundGpu {
    Gpu gpu;
    hwloc_obj_t pci_device;
};

// As NodeTopology::gpus.
std::vector<FoundGpu> find_gpus(const Source& source);

}  // namespace distgpu::discovery
