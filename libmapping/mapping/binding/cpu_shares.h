// How near CPUs are to GPUs, and how the tasks of a node divide the CPU mask that they share.
#pragma once

#include "mapping/binding/binding.h"

namespace distgpu {

struct Locality {
    explicit Locality(const NodeTopology& topology);

    // All CPUs of the packages that contain any of `cpus`.
    CpuSet package_of(const CpuSet& cpus) const;

    // The distance of a mask from a GPU (an index into NodeTopology::gpus), in thousandths: the
    // mean over the mask's CPUs of 0 (near the GPU), 1 (in the same package) and 2 (elsewhere). 0
    // for every mask if the GPU's place is unknown. Precondition: the mask is not empty.
    std::int64_t distance(const CpuSet& mask, std::uint32_t gpu) const;

    CpuSet all;
    std::vector<CpuSet> packages;
    std::vector<CpuSet> gpu_cpus;      // by GPU: the CPUs near it
    std::vector<CpuSet> gpu_packages;  // by GPU: package_of() these
};

// The CPUs of each task, by local rank: disjoint sets, or the whole mask for every task if it has
// fewer CPUs than tasks. `gpus_of`: each task's GPUs (indices into topology.gpus), or none for all.
// `min_cpus`: no task gets fewer, as far as an even division allows.
// Preconditions: the mask is not empty and has no CPU that the topology lacks.
std::vector<CpuSet> divide_cpus(const NodeTopology& topology, const Locality& locality,
                                const CpuSet& mask,
                                const std::vector<std::vector<std::uint32_t>>& gpus_of,
                                std::uint32_t min_cpus);

}  // namespace distgpu
