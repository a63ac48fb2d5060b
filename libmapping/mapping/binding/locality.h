// How near CPUs are to a GPU.
#pragma once

#include "mapping/topology/cpu_set.h"
#include "mapping/topology/topology.h"

#include <cstdint>
#include <vector>

namespace distgpu {

class Locality {
  public:
    explicit Locality(const NodeTopology& topology);

    const CpuSet& all() const { return all_; }

    // CPUs of the packages that hold any of these.
    CpuSet package_of(const CpuSet& cpus) const;

    // How far a mask is from a GPU (an index into the topology's), in thousandths: the mean over
    // the mask's CPUs of 0 (near the GPU), 1 (in the same package) and 2. 0 for every mask where
    // the GPU's place is not known. Precondition: the mask is not empty.
    std::int64_t distance(const CpuSet& mask, std::uint32_t gpu) const;

  private:
    CpuSet all_;
    std::vector<CpuSet> packages_;
    struct GpuCpus {
        CpuSet near;
        CpuSet package;
    };
    std::vector<GpuCpus> gpus_;
};

}  // namespace distgpu
