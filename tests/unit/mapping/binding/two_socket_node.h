// A made-up node for tests: 2 packages of 2 NUMA nodes of 4 cores of 2 threads. Core c has the
// CPUs c and c+16, NUMA node n the cores 4n .. 4n+3.
#pragma once

#include "mapping/binding/binding.h"

namespace distgpu {

inline CpuSet cores(std::uint32_t first, std::uint32_t last) {
    return CpuSet::range(first, last) | CpuSet::range(first + 16, last + 16);
}

// GPUs near these NUMA nodes, in PCI order; verbs HCAs with one ACTIVE port, near these. Distances:
// NODE in one NUMA node, else SYS.
inline NodeTopology two_socket_node(const std::vector<std::uint32_t>& gpu_numas,
                                    const std::vector<std::uint32_t>& hca_numas = {}) {
    NodeTopology node;
    for (std::uint32_t numa = 0; numa < 4; ++numa) {
        node.numas.push_back({numa, cores(4 * numa, 4 * numa + 3)});
        for (std::uint32_t core = 4 * numa; core < 4 * numa + 4; ++core) {
            node.cores.push_back({{core, core + 16}, numa, numa / 2});
        }
    }
    for (const std::uint32_t numa : hca_numas) {
        Hca& hca = node.hcas.emplace_back();
        hca.name = "mlx5_" + std::to_string(node.hcas.size() - 1);
        hca.numa = numa;
        hca.cpus = node.numas[numa].cpus;
        hca.ports = {{1, HcaPort::State::active, HcaPort::Link::infiniband, 400}};
    }
    for (const std::uint32_t numa : gpu_numas) {
        Gpu& gpu = node.gpus.emplace_back();
        gpu.pci = "0000:0" + std::to_string(node.gpus.size()) + ":00.0";
        gpu.numa = numa;
        gpu.cpus = node.numas[numa].cpus;
        auto& row = node.distances.emplace_back();
        for (const std::uint32_t hca_numa : hca_numas) {
            row.push_back(numa == hca_numa ? Distance::node : Distance::sys);
        }
    }
    return node;
}

}  // namespace distgpu
