#include "node/discovery/nearest_cpus.h"

#include "base/format.h"
#include "base/io/file_text.h"
#include "base/values.h"
#include "node/discovery/hwloc_values.h"
#include "node/discovery/hwloc_version.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>

namespace distgpu::discovery {
namespace {

struct ReleaseDistances {
    hwloc_topology_t topology;
    void operator()(hwloc_distances_s* distances) const {
        hwloc_distances_release(topology, distances);
    }
};
using Distances = std::unique_ptr<hwloc_distances_s, ReleaseDistances>;

const NumaNode* find(const std::vector<NumaNode>& numas, std::uint32_t id) {
    const auto found = std::find_if(numas.begin(), numas.end(),
                                    [id](const NumaNode& numa) { return numa.id == id; });
    return found == numas.end() ? nullptr : &*found;
}

// The only node of these that has CPUs; where none has, the only one.
const NumaNode* single_node(const std::vector<NumaNode>& numas, hwloc_const_bitmap_t ids) {
    std::vector<const NumaNode*> nodes;
    for (const std::uint32_t id : numbers(ids)) {
        if (const NumaNode* const numa = find(numas, id)) nodes.push_back(numa);
    }
    std::vector<const NumaNode*> with_cpus;
    std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(with_cpus),
                 [](const NumaNode* numa) { return !numa->cpus.empty(); });
    const auto& candidates = with_cpus.empty() ? nodes : with_cpus;
    return candidates.size() == 1 ? candidates.front() : nullptr;
}

// CPUs of the node that is nearest to node `id`, by the firmware's latencies; of two equally near
// ones the first.
CpuSet cpus_by_latency(const Source& source, std::uint32_t id) {
    unsigned count = 1;
    hwloc_distances_s* found = nullptr;
    hwloc_distances_get_by_type(source.topology, HWLOC_OBJ_NUMANODE, &count, &found, latency_kind(),
                                0);
    if (found == nullptr) return {};
    const Distances distances(found, {source.topology});
    const unsigned size = distances->nbobjs;
    CpuSet nearest;
    auto least = std::numeric_limits<hwloc_uint64_t>::max();
    for (unsigned cell = 0; cell < size * size; ++cell) {
        if (distances->objs[cell / size]->os_index != id) continue;
        const NumaNode* const to = find(source.numas, distances->objs[cell % size]->os_index);
        if (to == nullptr || to->cpus.empty() || distances->values[cell] >= least) continue;
        least = distances->values[cell];
        nearest = to->cpus;
    }
    return nearest;
}

// Of a node that has no CPUs of its own.
CpuSet cpus_near(const Source& source, std::uint32_t id) {
    hwloc_obj* const node = hwloc_get_numanode_obj_by_os_index(source.topology, id);
    CpuSet cpus = cpu_set(node->cpuset);  // hwloc may know
    return cpus.empty() ? cpus_by_latency(source, id) : cpus;
}

CpuSet cpus_of_ancestors(hwloc_obj_t object) {
    while (object->parent != nullptr && hwloc_bitmap_iszero(object->cpuset)) {
        object = object->parent;
    }
    return cpu_set(object->cpuset);
}

// What Linux says of a device beside hwloc, which does not keep it of a node without CPUs.
const NumaNode* linux_node(const Source& source, hwloc_obj_t device) {
    hwloc_obj* const pci = pci_device_of(device);
    if (source.roots == nullptr || pci == nullptr) return nullptr;
    const auto text = read_trimmed(formatted("{}/bus/pci/devices/{}/numa_node", source.roots->sys,
                                             pci_name(pci_address(pci))));
    const auto id = whole_number(text.value_or(""));
    return id ? find(source.numas, *id) : nullptr;  // "-1": no node
}

}  // namespace

NearestCpus nearest_cpus(const Source& source, hwloc_obj_t device) {
    hwloc_obj* const place = hwloc_get_non_io_ancestor_obj(source.topology, device);
    NearestCpus nearest{std::nullopt, cpu_set(place->cpuset)};
    const NumaNode* node = single_node(source.numas, place->nodeset);
    if (node == nullptr) {
        node = linux_node(source, device);
        if (node != nullptr) nearest.cpus = node->cpus;
    }
    if (node != nullptr) {
        nearest.numa = node->id;
        if (node->cpus.empty()) nearest.cpus = cpus_near(source, node->id);
    }
    if (nearest.cpus.empty()) nearest.cpus = cpus_of_ancestors(place);
    return nearest;
}

}  // namespace distgpu::discovery
