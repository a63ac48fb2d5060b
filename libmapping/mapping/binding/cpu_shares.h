// How the tasks of a node that have one CPU mask together divide it.
#pragma once

#include "mapping/binding/binding.h"
#include "mapping/binding/locality.h"

#include <cstdint>
#include <vector>

namespace distgpu {

// By local rank: disjoint, or the whole mask for everyone where it has fewer CPUs than there are
// tasks. `gpus_of`: each task's
// GPUs (indices into topology.gpus); no task has any where the step has none. `at_least`: CPUs of
// which no task gets fewer, as far as an even division allows.
// Preconditions: the mask is not empty and holds no CPU that the topology lacks.
std::vector<CpuSet> divide_cpus(const NodeTopology& topology, const Locality& locality,
                                const CpuSet& mask,
                                const std::vector<std::vector<std::uint32_t>>& gpus_of,
                                std::uint32_t at_least);

}  // namespace distgpu
