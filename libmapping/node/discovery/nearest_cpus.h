// The NUMA node and the CPUs that are nearest to a device.
#pragma once

#include "mapping/topology/cpu_set.h"
#include "node/discovery/source.h"

#include <hwloc.h>

#include <cstdint>
#include <optional>

namespace distgpu::discovery {

struct NearestCpus {
    std::optional<std::uint32_t> numa;  // nothing: not known
    CpuSet cpus;                        // all of the machine where its place is not known
};

// Of an I/O object.
NearestCpus nearest_cpus(const Source& source, hwloc_obj_t device);

}  // namespace distgpu::discovery
