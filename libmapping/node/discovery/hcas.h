// The machine's HCAs: which of its network devices are some.
#pragma once

#include "mapping/topology/topology.h"
#include "node/discovery/source.h"

#include <hwloc.h>

#include <vector>

namespace distgpu::discovery {

struct FoundHca {
    Hca hca;
    hwloc_obj_t os_device;
};

// As NodeTopology::hcas. Ports are those that hwloc tells: numbers and states, no rates.
std::vector<FoundHca> find_hcas(const Source& source);

}  // namespace distgpu::discovery
