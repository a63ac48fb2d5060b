// What a node gives to a step that binding orders: its topology, and masks for the tasks.
#pragma once

#include "mapping/binding/two_socket_node.h"
#include "plan_testing.h"

namespace distgpu::plan_testing {

// Tasks that may run on the whole of two_socket_node().
inline std::vector<CpuSet> everywhere(std::uint32_t tasks) {
    return std::vector<CpuSet>(tasks, CpuSet::range(0, 31));
}

// A task on each of these NUMA nodes of two_socket_node().
inline std::vector<CpuSet> in_numas(const std::vector<std::uint32_t>& numas) {
    std::vector<CpuSet> masks;
    for (const std::uint32_t numa : numas) masks.push_back(cores(4 * numa, 4 * numa + 3));
    return masks;
}

// A step that has these GPUs, and the node's other resources, for itself. Slurm names GPUs by their
// place among the step's.
inline NodeFacts bound_node(const NodeTopology& topology, const std::vector<CpuSet>& masks,
                            const std::vector<std::uint32_t>& gpus) {
    NodeFacts node;
    node.cpus = 32;
    node.topology = &topology;
    node.share.masks = masks;
    node.share.gpus = gpus;
    for (std::size_t i = 0; i < gpus.size(); ++i) node.gpu_names.names.push_back(std::to_string(i));
    node.gpu_names.variables = {"CUDA_VISIBLE_DEVICES"};
    node.is_confined = true;
    return node;
}

// One task for each mask, on the first of two nodes.
inline NodePlan planned_on(const char* spec, const NodeFacts& node) {
    const auto tasks = static_cast<std::uint32_t>(node.share.masks.size());
    return planned(spec, layout("n[1-2]", {{0, 2, tasks, 1}}), 0, node);
}

// On which CPUs the tasks will run, by local rank; "-" without a binding.
inline std::vector<std::string> cpus_of(const NodePlan& node) {
    std::vector<std::string> lists;
    for (const TaskPlan& task : node.tasks) {
        lists.push_back(task.binding ? task.binding->cpus.to_string() : "-");
    }
    return lists;
}

}  // namespace distgpu::plan_testing
