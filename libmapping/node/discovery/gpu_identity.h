// Which GPUs stand behind one PCI device, and their models and UUIDs.
#pragma once

#include "mapping/topology/topology.h"
#include "node/discovery/amd_kfd.h"
#include "node/discovery/nvml.h"
#include "node/machine.h"

#include <hwloc.h>

#include <optional>
#include <vector>

namespace distgpu::discovery {

class GpuIdentities {
  public:
    // `roots`: the drivers of this machine are asked too. Null: what hwloc says is all.
    explicit GpuIdentities(const MachineRoots* roots);

    // `gpu`, whose address, vendor and place are known, as often as the device counts, with what
    // distinguishes each. By partition.
    std::vector<Gpu> identify(const Gpu& gpu, hwloc_obj_t pci_device);

  private:
    void ask_nvidia_driver(Gpu& gpu);

    const MachineRoots* roots_;
    std::vector<KfdGpu> kfd_;
    std::optional<Nvml> nvml_;  // loaded for the first GPU that has MIG instances
};

}  // namespace distgpu::discovery
