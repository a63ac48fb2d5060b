// hwloc's values as distgpu's: sets, infos, PCI devices, and the topology's lifetime.
#pragma once

#include "mapping/topology/cpu_set.h"

#include <hwloc.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace distgpu::discovery {

struct DestroyTopology {
    void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, DestroyTopology>;

CpuSet cpu_set(hwloc_const_bitmap_t set);
std::vector<std::uint32_t> numbers(hwloc_const_bitmap_t set);  // ascending

std::string info(hwloc_obj_t object, const char* name);  // empty: it has none

// Domain in bits 16 and up, then bus, device and function as Linux packs them: addresses compare in
// the order in which they are counted.
using PciAddress = std::uint64_t;
PciAddress pci_address(hwloc_obj_t pci_device);
std::string pci_name(PciAddress address);  // as Linux writes it: "0000:06:00.0"

// The PCI device that `object` is or belongs to; null: none.
hwloc_obj_t pci_device_of(hwloc_obj_t object);

std::vector<hwloc_obj_t> os_devices_of(hwloc_obj_t pci_device);

}  // namespace distgpu::discovery
