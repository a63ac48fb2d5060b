// Converts hwloc's values, and locates things in the machine: its NUMA nodes and cores, the CPUs
// nearest to a device, and the PCI distance between two devices.
#include "node/discovery/hwloc_machine.h"

#include "base/format.h"
#include "base/io/files.h"
#include "base/values.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <limits>

namespace distgpu::discovery {
namespace {

const NumaNode* find_numa(const std::vector<NumaNode>& numas, std::uint32_t id) {
    const auto found = std::ranges::find(numas, id, &NumaNode::id);
    return found == numas.end() ? nullptr : &*found;
}

// The only one of these nodes that has CPUs; if none has, the only one; otherwise null.
const NumaNode* single_node(const std::vector<NumaNode>& numas, hwloc_const_bitmap_t ids) {
    std::vector<const NumaNode*> nodes;
    for (const std::uint32_t id : bit_indices(ids)) {
        if (const NumaNode* const numa = find_numa(numas, id)) nodes.push_back(numa);
    }
    std::vector<const NumaNode*> with_cpus;
    std::ranges::copy_if(nodes, std::back_inserter(with_cpus),
                         [](const NumaNode* numa) { return !numa->cpus.empty(); });
    const auto& candidates = with_cpus.empty() ? nodes : with_cpus;
    return candidates.size() == 1 ? candidates.front() : nullptr;
}

// The CPUs of the node that is nearest to node `id` by the firmware's latencies; on a tie the first
// one's.
CpuSet cpus_by_latency(const HwlocMachine& machine, std::uint32_t id) {
    unsigned count = 1;
    hwloc_distances_s* found = nullptr;
    hwloc_distances_get_by_type(machine.topology, HWLOC_OBJ_NUMANODE, &count, &found, latency_kind,
                                0);
    if (found == nullptr) return {};
    const auto release = [&](hwloc_distances_s* distances) {
        hwloc_distances_release(machine.topology, distances);
    };
    const std::unique_ptr<hwloc_distances_s, decltype(release)> distances(found, release);
    const unsigned size = distances->nbobjs;
    CpuSet nearest;
    auto least = std::numeric_limits<hwloc_uint64_t>::max();
    for (unsigned cell = 0; cell < size * size; ++cell) {
        if (distances->objs[cell / size]->os_index != id) continue;
        const NumaNode* const to = find_numa(machine.numas, distances->objs[cell % size]->os_index);
        if (to == nullptr || to->cpus.empty() || distances->values[cell] >= least) continue;
        least = distances->values[cell];
        nearest = to->cpus;
    }
    return nearest;
}

// The device's node according to Linux, because hwloc does not keep a node without CPUs.
const NumaNode* linux_node(const HwlocMachine& machine, hwloc_obj_t device) {
    hwloc_obj* const pci = pci_device_of(device);
    if (machine.roots == nullptr || pci == nullptr) return nullptr;
    const auto text = read_trimmed(formatted("{}/bus/pci/devices/{}/numa_node", machine.roots->sys,
                                             pci_name(pci_address(pci))));
    const auto id = whole_number(text.value_or(""));
    return id ? find_numa(machine.numas, *id) : nullptr;  // "-1": no node
}

// The I/O objects from `object` up to its host bridge.
std::vector<hwloc_obj_t> io_path(hwloc_obj_t object) {
    std::vector<hwloc_obj_t> path;
    for (; object != nullptr && hwloc_obj_type_is_io(object->type); object = object->parent) {
        path.push_back(object);
    }
    return path;
}

}  // namespace

std::vector<std::uint32_t> bit_indices(hwloc_const_bitmap_t set) {
    std::vector<std::uint32_t> indices;
    // The bound is for an XML, whose sets may be infinite.
    constexpr int limit = CpuSet::cpu_limit;
    for (int n = hwloc_bitmap_first(set); n >= 0 && n < limit; n = hwloc_bitmap_next(set, n)) {
        indices.push_back(static_cast<std::uint32_t>(n));
    }
    return indices;
}

CpuSet cpu_set(hwloc_const_bitmap_t set) {
    CpuSet cpus;
    for (const std::uint32_t cpu : bit_indices(set)) cpus.add(cpu);
    return cpus;
}

std::string info_value(hwloc_obj_t object, const char* name) {
    const char* const value = hwloc_obj_get_info_by_name(object, name);
    return value == nullptr ? "" : value;
}

PciAddress pci_address(hwloc_obj_t pci_device) {
    const auto& pci = pci_device->attr->pcidev;
    return PciAddress{pci.domain} << 16U | static_cast<PciAddress>(pci.bus) << 8U |
           static_cast<PciAddress>(pci.dev) << 3U | pci.func;
}

std::string pci_name(PciAddress address) {
    return formatted("{:04x}:{:02x}:{:02x}.{:x}", address >> 16U, address >> 8U & 0xffU,
                     address >> 3U & 0x1fU, address & 0x7U);
}

hwloc_obj_t pci_device_of(hwloc_obj_t object) {
    while (object != nullptr && object->type != HWLOC_OBJ_PCI_DEVICE) object = object->parent;
    return object;
}

std::vector<hwloc_obj_t> os_devices_of(hwloc_obj_t pci_device) {
    std::vector<hwloc_obj_t> devices;
    for (hwloc_obj_t child = pci_device->io_first_child; child != nullptr;
         child = child->next_sibling) {
        if (child->type == HWLOC_OBJ_OS_DEVICE) devices.push_back(child);
    }
    return devices;
}

bool is_virtual_function(const HwlocMachine& machine, const std::string& pci) {
    if (machine.roots == nullptr) return false;
    std::error_code error;
    const std::string link = formatted("{}/bus/pci/devices/{}/physfn", machine.roots->sys, pci);
    return std::filesystem::exists(link, error);
}

std::vector<NumaNode> numa_nodes(hwloc_topology_t topology) {
    std::vector<NumaNode> numas;
    hwloc_obj_t node = nullptr;
    while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr) {
        numas.push_back({node->os_index, cpu_set(node->cpuset)});
    }
    std::ranges::sort(numas, {}, &NumaNode::id);
    CpuSet taken;
    for (NumaNode& numa : numas) {
        numa.cpus -= taken;
        taken |= numa.cpus;
    }
    return numas;
}

std::vector<Core> cores(hwloc_topology_t topology, const std::vector<NumaNode>& numas) {
    const bool has_cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0;
    const hwloc_obj_type_t type = has_cores ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    std::vector<Core> cores;
    hwloc_obj_t core = nullptr;
    while ((core = hwloc_get_next_obj_by_type(topology, type, core)) != nullptr) {
        CpuSet cpus = cpu_set(core->cpuset);
        const auto numa = std::ranges::find_if(
            numas, [&](const NumaNode& node) { return node.cpus.intersects(cpus); });
        const auto index = numa == numas.end() ? 0 : numa - numas.begin();
        hwloc_obj* const package =
            hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, core);
        cores.push_back({std::move(cpus), static_cast<std::uint32_t>(index),
                         package == nullptr ? 0 : package->logical_index});
    }
    return cores;
}

NearestCpus nearest_cpus(const HwlocMachine& machine, hwloc_obj_t device) {
    hwloc_obj* place = hwloc_get_non_io_ancestor_obj(machine.topology, device);
    NearestCpus nearest{std::nullopt, cpu_set(place->cpuset)};
    const NumaNode* node = single_node(machine.numas, place->nodeset);
    if (node == nullptr) {
        node = linux_node(machine, device);
        if (node != nullptr) nearest.cpus = node->cpus;
    }
    if (node != nullptr) {
        nearest.numa = node->id;
        if (node->cpus.empty()) {
            // hwloc may know CPUs for it.
            hwloc_obj* const numa = hwloc_get_numanode_obj_by_os_index(machine.topology, node->id);
            nearest.cpus = cpu_set(numa->cpuset);
            if (nearest.cpus.empty()) nearest.cpus = cpus_by_latency(machine, node->id);
        }
    }
    if (!nearest.cpus.empty()) return nearest;
    while (place->parent != nullptr && hwloc_bitmap_iszero(place->cpuset)) place = place->parent;
    nearest.cpus = cpu_set(place->cpuset);
    return nearest;
}

Distance pci_distance(hwloc_topology_t topology, hwloc_obj_t left, hwloc_obj_t right) {
    const auto left_path = io_path(left);
    const auto right_path = io_path(right);
    const auto left_common = std::find_first_of(left_path.begin(), left_path.end(),
                                                right_path.begin(), right_path.end());
    if (left_common == left_path.end()) {
        hwloc_obj* const left_place = hwloc_get_non_io_ancestor_obj(topology, left);
        hwloc_obj* const right_place = hwloc_get_non_io_ancestor_obj(topology, right);
        return hwloc_bitmap_isequal(left_place->nodeset, right_place->nodeset) ? Distance::node
                                                                               : Distance::sys;
    }
    const auto is_bridge = [](hwloc_obj_t object) { return object->type == HWLOC_OBJ_BRIDGE; };
    if (is_bridge(*left_common) &&
        (*left_common)->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST) {
        return Distance::phb;
    }
    const auto right_common = std::ranges::find(right_path, *left_common);
    const auto most = std::max(std::count_if(left_path.begin(), left_common, is_bridge),
                               std::count_if(right_path.begin(), right_common, is_bridge));
    return most > 1 ? Distance::pxb : Distance::pix;
}

}  // namespace distgpu::discovery
