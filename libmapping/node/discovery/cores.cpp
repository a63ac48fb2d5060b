#include "node/discovery/cores.h"

#include "node/discovery/hwloc_values.h"

#include <algorithm>

namespace distgpu::discovery {
namespace {

std::uint32_t numa_index(const CpuSet& cpus, const std::vector<NumaNode>& numas) {
    const auto numa = std::find_if(numas.begin(), numas.end(), [&](const NumaNode& node) {
        return node.cpus.intersects(cpus);
    });
    return numa == numas.end() ? 0 : static_cast<std::uint32_t>(numa - numas.begin());
}

std::uint32_t package_number(hwloc_topology_t topology, hwloc_obj_t core) {
    hwloc_obj* const package = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, core);
    return package == nullptr ? 0 : package->logical_index;
}

}  // namespace

std::vector<NumaNode> numa_nodes(hwloc_topology_t topology) {
    std::vector<NumaNode> numas;
    hwloc_obj_t node = nullptr;
    while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr) {
        numas.push_back({node->os_index, cpu_set(node->cpuset)});
    }
    std::sort(numas.begin(), numas.end(),
              [](const NumaNode& left, const NumaNode& right) { return left.id < right.id; });
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
        const std::uint32_t numa = numa_index(cpus, numas);
        cores.push_back({std::move(cpus), numa, package_number(topology, core)});
    }
    return cores;
}

}  // namespace distgpu::discovery
