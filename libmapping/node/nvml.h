// NVML, NVIDIA's library for the state of GPUs, if it is installed: their MIG instances, memory,
// utilization and NVLink.
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

    // In NVML's order; empty if the library is missing, lacks a function or fails.
    std::vector<MigInstance> mig_instances(const std::string& pci) const;

    // nullopt if the library is missing or does not report it.
    std::optional<GpuMemory> memory(const std::string& pci) const;

    // Percent of the last sample period (a sixth of a second to a second) in which a kernel ran.
    // nullopt as for memory().
    std::optional<std::uint32_t> utilization(const std::string& pci) const;

    // Whether NVLink connects it to GPUs of other nodes (GB200 NVL72): it has joined a fabric that
    // has a UUID, which is NCCL's condition for using it. False if unknown.
    bool is_linked_to_other_nodes(const std::string& pci) const;

  private:
    struct Library;
    std::shared_ptr<const Library> library_;  // null if not usable
};

}  // namespace distgpu
