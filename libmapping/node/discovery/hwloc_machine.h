// What the parts of a discovery share: hwloc's values as distgpu's, and what each part finds.
// The header of hwloc stays behind it (discover.h is what others include).
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

// ---- What hwloc's releases 2.2 to 3.0 call differently

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

// What a discovery reads: hwloc's topology and, of this machine, also /proc and /sys.
struct Source {
    hwloc_topology_t topology;
    const MachineRoots* roots;  // null: an XML, maybe of another machine
    std::vector<NumaNode> numas;
};

// A virtual function (SR-IOV) of a device that this machine has too: it is there for a virtual
// machine or a container, and the programs of this machine use the device itself. Within a virtual
// machine, which has the function alone, it is an ordinary device. False of an XML, which does not
// tell.
bool is_virtual_function(const Source& source, const std::string& pci);

// By number. Each CPU is in one node, as in Linux: hwloc gives the CPUs near a node that is memory
// alone (of a GPU, HBM) to that node too.
std::vector<NumaNode> numa_nodes(hwloc_topology_t topology);

// In hwloc's logical order. Where hwloc knows no cores, each CPU is one.
std::vector<Core> cores(hwloc_topology_t topology, const std::vector<NumaNode>& numas);

// The NUMA node and the CPUs that are nearest to a device.
struct NearestCpus {
    std::optional<std::uint32_t> numa;  // nothing: not known
    CpuSet cpus;                        // all of the machine where its place is not known
};

// Of an I/O object.
NearestCpus nearest_cpus(const Source& source, hwloc_obj_t device);

// Of two I/O objects, by the nearest bridge above both. Below another host bridge: NODE where the
// same NUMA nodes are near them, else SYS.
Distance pci_distance(hwloc_topology_t topology, hwloc_obj_t left, hwloc_obj_t right);

// ---- Devices (devices.cpp)

struct FoundGpu {
    Gpu gpu;
    hwloc_obj_t pci_device;
};

// As NodeTopology::gpus.
std::vector<FoundGpu> find_gpus(const Source& source);

struct FoundHca {
    Hca hca;
    hwloc_obj_t os_device;
};

// As NodeTopology::hcas. Ports are those that hwloc tells: numbers and states, no rates.
std::vector<FoundHca> find_hcas(const Source& source);

}  // namespace distgpu::discovery
