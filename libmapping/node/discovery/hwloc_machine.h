// Shared by the parts of the discovery: conversions of hwloc's values, and the results of each
// part. Other folders include discover.h, which does not need hwloc's header.
#pragma once

#include "mapping/topology/topology.h"
#include "node/machine.h"

#include <hwloc.h>

#include <memory>

namespace distgpu::discovery {

// ---- hwloc's values (hwloc_machine.cpp)

struct DestroyTopology {
    void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, DestroyTopology>;

CpuSet cpu_set(hwloc_const_bitmap_t set);
std::vector<std::uint32_t> bit_indices(hwloc_const_bitmap_t set);  // ascending

std::string info_value(hwloc_obj_t object, const char* name);  // empty if absent

// Domain in bits 16 and up, then bus, device and function as Linux packs them, so that addresses
// compare in the order in which drivers number devices.
using PciAddress = std::uint64_t;
PciAddress pci_address(hwloc_obj_t pci_device);
std::string pci_name(PciAddress address);  // as Linux writes it: "0000:06:00.0"

// The PCI device that `object` is or belongs to; null if none.
hwloc_obj_t pci_device_of(hwloc_obj_t object);

std::vector<hwloc_obj_t> os_devices_of(hwloc_obj_t pci_device);

// ---- Differences between hwloc's releases 2.2 to 3.0

#if HWLOC_API_VERSION >= 0x00030000

inline bool is_of_type(hwloc_obj_t os_device, unsigned long type) {
    return (os_device->attr->osdev.types & type) != 0;
}

inline const char* host_name_of(hwloc_topology_t topology) {
    return hwloc_get_info_by_name(hwloc_topology_get_infos(topology), "HostName");
}

constexpr auto latency_kind = HWLOC_DISTANCES_KIND_VALUE_LATENCY;

#else

inline bool is_of_type(hwloc_obj_t os_device, hwloc_obj_osdev_type_t type) {
    return os_device->attr->osdev.type == type;
}

inline const char* host_name_of(hwloc_topology_t topology) {
    return hwloc_obj_get_info_by_name(hwloc_get_root_obj(topology), "HostName");
}

constexpr auto latency_kind = HWLOC_DISTANCES_KIND_MEANS_LATENCY;

#endif

inline bool is_openfabrics(hwloc_obj_t os_device) {
    return is_of_type(os_device, HWLOC_OBJ_OSDEV_OPENFABRICS);
}

// 2 or 3.
inline unsigned hwloc_major() {
    return hwloc_get_api_version() >> 16U;
}

// ---- Where things are in the machine (hwloc_machine.cpp)

// Input of a discovery: hwloc's topology and, for this machine, also /proc and /sys.
struct HwlocMachine {
    hwloc_topology_t topology;
    const MachineRoots* roots;  // null for an XML, which may be of another machine
    std::vector<NumaNode> numas;
};

// Whether it is a virtual function (SR-IOV) of a device that this machine also has. It is for a
// virtual machine or a container; programs of this machine use the device itself. Inside a virtual
// machine, which has only the function, it is an ordinary device. False for an XML, which does not
// say.
bool is_virtual_function(const HwlocMachine& machine, const std::string& pci);

// By number. Each CPU is in one node, as in Linux, whereas hwloc also assigns CPUs to a nearby node
// that has only memory (of a GPU, HBM).
std::vector<NumaNode> numa_nodes(hwloc_topology_t topology);

// In hwloc's logical order. If hwloc knows no cores, each CPU is one.
std::vector<Core> cores(hwloc_topology_t topology, const std::vector<NumaNode>& numas);

// The NUMA node and the CPUs that are nearest to a device.
struct NearestCpus {
    std::optional<std::uint32_t> numa;  // nullopt if unknown
    CpuSet cpus;                        // all of the machine if the device's place is unknown
};

// `device`: an I/O object.
NearestCpus nearest_cpus(const HwlocMachine& machine, hwloc_obj_t device);

// The distance of two I/O objects, by the nearest bridge above both. Below different host bridges:
// NODE if the same NUMA nodes are near them, otherwise SYS.
Distance pci_distance(hwloc_topology_t topology, hwloc_obj_t left, hwloc_obj_t right);

// ---- Devices (devices.cpp)

struct FoundGpu {
    Gpu gpu;
    hwloc_obj_t pci_device;
};

struct FoundGpus {
    std::vector<FoundGpu> gpus;    // as NodeTopology::gpus
    std::vector<OtherGpu> others;  // as NodeTopology::other_gpus
};

FoundGpus find_gpus(const HwlocMachine& machine);

struct FoundHca {
    Hca hca;
    hwloc_obj_t os_device;
};

// As NodeTopology::hcas. Ports are those that hwloc reports: numbers and states, no rates.
std::vector<FoundHca> find_hcas(const HwlocMachine& machine);

}  // namespace distgpu::discovery
