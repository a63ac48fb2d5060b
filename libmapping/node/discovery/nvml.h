// MIG instances, memory and load of a GPU, by NVIDIA's management library, which is loaded only if
// it is there.
#pragma once

#include "mapping/topology/topology.h"
#include "node/nvml_library.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace distgpu::discovery {

struct GpuMemory {
    std::uint64_t total = 0;  // bytes
    std::uint64_t free = 0;   // at most total
};

class Nvml {
  public:
    explicit Nvml(const std::string& library = nvml::file_name);

    // In NVML's order; none where the library is missing or fails.
    std::vector<MigInstance> mig_instances(const std::string& pci) const;

    // Nothing: the library is missing or does not tell.
    std::optional<GpuMemory> memory(const std::string& pci) const;

    // Percent of the last moments (a sixth of a second to a second) in which a kernel ran. Nothing:
    // as above.
    std::optional<std::uint32_t> busy(const std::string& pci) const;

  private:
    std::shared_ptr<const nvml::Devices> library_;  // null: it is not usable
};

}  // namespace distgpu::discovery
