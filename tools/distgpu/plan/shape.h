// The shape of a step as `distgpu plan` is told it: nodes, tasks, GPUs, CPUs and topologies.
#pragma once

#include "base/result.h"
#include "mapping/layout/layout_text.h"
#include "mapping/plan/plan.h"
#include "mapping/topology/topology.h"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace distgpu {

// The options' texts; empty where one was not given.
struct ShapeOptions {
    LayoutText layout{};
    std::string gpus_per_node{};  // --gpus-per-node N: a node's first N; by default all it has
    std::string gpus{};           // --gpus N: of all nodes together
    std::string gpu_list{};       // --gpu-list 2,3: which of a node's GPUs, by number
    std::string cpus_per_task{};  // --cpus-per-task N
    std::string cpu_masks{};      // --cpu-masks 0-3:4-7: of a node's tasks; one for all; by default
                                  // all the CPUs that the node has
    // Where gpus_per_node was written; empty: in an option.
    std::string gpus_variable{};

    bool operator==(const ShapeOptions&) const = default;
};

// The topologies of a step's nodes.
struct StepTopologies {
    std::optional<NodeTopology> usual;              // of every node that has none of its own
    std::map<std::uint32_t, NodeTopology> of_node;  // by NodeIndex

    const NodeTopology* of(NodeIndex node) const;
};

class Shape {
  public:
    // `layout` is that of options.layout.
    // Errors: a text that is none of those above; more GPUs than a node has; another number of
    // masks than a node's tasks.
    static Result<Shape> make(const ShapeOptions& options, StepLayout layout,
                              StepTopologies topologies);

    const StepLayout& layout() const { return layout_; }

    // What the shape could not take from the options as Slurm would.
    const std::optional<Error>& left_out() const { return left_out_; }

    bool has_topology(NodeIndex node) const { return topologies_.of(node) != nullptr; }

    // Valid for the shape's lifetime.
    NodeFacts facts(NodeIndex index) const;

  private:
    Shape(StepLayout layout, StepTopologies topologies)
        : layout_(std::move(layout)), topologies_(std::move(topologies)) {}

    std::optional<Error> choose_gpus(const ShapeOptions& options);
    std::optional<Error> deal_gpus(const ShapeOptions& options);
    bool have_all_nodes(std::uint32_t gpus) const;
    std::optional<Error> fits(const ShapeOptions& options) const;
    std::vector<std::uint32_t> gpus_of(const NodeTopology* topology) const;
    std::vector<CpuSet> masks_of(const NodeTopology& topology, std::size_t tasks) const;

    StepLayout layout_;
    StepTopologies topologies_;
    std::optional<std::vector<std::uint32_t>> gpus_;  // nothing: all that a node has
    std::string gpus_option_;                         // by which they were chosen: "--gpus 4"
    std::optional<Error> left_out_;
    std::uint32_t cpus_per_task_ = 1;
    std::vector<CpuSet> masks_;  // empty: all CPUs; one: of every task; else by local rank
};

}  // namespace distgpu
