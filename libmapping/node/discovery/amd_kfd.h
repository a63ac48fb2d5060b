// AMD's GPUs as its compute driver counts them: a partitioned MI300A is several on one PCI device.
#pragma once

#include "node/discovery/hwloc_values.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace distgpu::discovery {

struct KfdGpu {
    PciAddress pci = 0;
    std::uint32_t partition = 0;
    std::optional<std::uint32_t> minor;  // of /dev/dri/renderDMINOR
    std::string uuid;  // as ROCm writes it, "GPU-" and 16 digits; empty: not known

    bool operator==(const KfdGpu&) const = default;
};

// From class/kfd/kfd/topology/nodes below `sys`; by address, then partition.
std::vector<KfdGpu> kfd_gpus(const std::string& sys);

// A unique id in ROCm's form; empty for 0, which identifies nothing.
std::string amd_uuid(std::uint64_t unique_id);

}  // namespace distgpu::discovery
