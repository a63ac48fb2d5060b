// The shape of a step as `distgpu plan` is told it: nodes, tasks, GPUs and CPUs.
#pragma once

#include <distgpu/plan.h>
#include <distgpu/result.h>
#include <distgpu/topology.h>

#include <optional>
#include <string>
#include <vector>

namespace distgpu {

// The options' texts; empty where one was not given.
struct ShapeOptions {
    std::string nodelist;        // --nodelist node[01-02]
    std::string tasks_per_node;  // --tasks-per-node 4(x2),1; with an arbitrary distribution unused
    std::string distribution;    // --distribution block|cyclic|plane=N|arbitrary=NODE,NODE,...
    std::string gpus_per_node;   // --gpus-per-node N: a node's first N; by default all it has
    std::string gpus;            // --gpus 2,3: which of a node's GPUs, by number
    std::string cpus_per_task;   // --cpus-per-task N
    std::string cpu_masks;       // --cpu-masks 0-3:4-7: of a node's tasks; one for all; by default
                                 // all the CPUs that the node has
};

struct Shape {
    StepLayout layout;
    NodeFacts node;             // of every node, but for the masks
    std::vector<CpuSet> masks;  // empty: not known; one: of every task; else by local id

    // The facts of one node.
    NodeFacts facts(NodeIndex index) const;
};

// `topology`: of every node, and living longer than the shape; null: not known.
// Errors: a text that is none of those above; more GPUs than the node has; another number of masks
// than a node's tasks.
Result<Shape> make_shape(const ShapeOptions& options, const NodeTopology* topology);

}  // namespace distgpu
