// A node whose tasks have all of it, for what measures the binding and the plan.
#pragma once

#include "mapping/binding/node_facts.h"

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>

namespace distgpu::bench {

inline NodeFacts whole_node(const NodeTopology& topology, std::uint32_t tasks) {
    CpuSet all;
    for (const Core& core : topology.cores) all |= core.cpus;
    NodeFacts facts;
    facts.cpus = all.count();
    facts.gpus = static_cast<std::uint32_t>(topology.gpus.size());
    facts.topology = &topology;
    facts.confined = true;
    facts.share.masks.assign(tasks, all);
    facts.share.gpus.resize(topology.gpus.size());
    std::iota(facts.share.gpus.begin(), facts.share.gpus.end(), 0U);
    for (const std::uint32_t gpu : facts.share.gpus) {
        facts.gpu_names.names.push_back(std::to_string(gpu));
    }
    facts.gpu_names.variables = {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"};
    return facts;
}

// Every task a part of the CPUs, the last first, so that GPUs are assigned by distance.
inline SlurmShare bound_by_slurm(const NodeTopology& topology, SlurmShare share) {
    const std::size_t cores = topology.cores.size();
    const std::size_t tasks = share.masks.size();
    for (std::size_t task = 0; task < tasks; ++task) {
        CpuSet mask;
        for (std::size_t core = task * cores / tasks; core < (task + 1) * cores / tasks; ++core) {
            mask |= topology.cores[core].cpus;
        }
        share.masks[tasks - 1 - task] = mask;
    }
    return share;
}

}  // namespace distgpu::bench
