// NVML, NVIDIA's library for the state of GPUs, where it is installed: MIG instances, memory and
// load of GPUs.
#pragma once

#include "mapping/topology/topology.h"

#include <memory>

namespace distgpu {

struct GpuMemory {
    std::uint64_t total = 0;  // bytes
    std::uint64_t free = 0;   // at most total
};

class Nvml {
  public:
    explicit Nvml(const std::string& library = "libnvidia-ml.so.1");

    // In NVML's order; none where the library is missing, lacks a function or fails.
    std::vector<MigInstance> mig_instances(const std::string& pci) const;

    // Nothing: the library is missing or does not tell.
    std::optional<GpuMemory> memory(const std::string& pci) const;

    // Percent of the last moments (a sixth of a second to a second) in which a kernel ran. Nothing:
    // as above.
    std::optional<std::uint32_t> busy(const std::string& pci) const;

  private:
    struct Library;
    std::shared_ptr<const Library> library_;  // null: it is not usable
};

}  // namespace distgpu
