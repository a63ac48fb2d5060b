// How near CPUs are to GPUs, and how the tasks of a node that have one CPU mask together divide it.
#pragma once

#include "mapping/binding/binding.h"

namespace distgpu {

struct Locality {
    explicit Locality(const NodeTopology& topology);

    // CPUs of the packages that hold any of these.
    CpuSet package_of(const CpuSet& cpus) const;

    // How far a mask is from a GPU (an index into the topology's), in thousandths: the mean over
    // the mask's CPUs of 0 (near the GPU), 1 (in the same package) and 2. 0 for every mask where
    // the GPU's place is not known. Precondition: the mask is not empty.
    std::int64_t distance(const CpuSet& mask, std::uint32_t gpu) const;

    CpuSet all;
    std::vector<CpuSet> packages;
    std::vector<CpuSet> gpu_cpus;      // near to each
    std::vector<CpuSet> gpu_packages;  // those that hold any of these
};

// By local rank: disjoint, or the whole mask for everyone where it has fewer CPUs than there are
// tasks. `gpus_of`: each task's GPUs (indices into topology.gpus); no task has any where the step
// has none. `at_least`: CPUs of which no task gets fewer, as far as an even division allows.
// Preconditions: the mask is not empty and holds no CPU that the topology lacks.
std::vector<CpuSet> divide_cpus(const NodeTopology& topology, const Locality& locality,
                                const CpuSet& mask,
                                const std::vector<std::vector<std::uint32_t>>& gpus_of,
                                std::uint32_t at_least);

}  // namespace distgpu
