// The shape of a step as `distgpu plan` is told it: nodes, tasks, GPUs, CPUs and topologies.
#pragma once

#include "base/result.h"
#include "mapping/plan/plan.h"
#include "mapping/topology/topology.h"
#include "slurm/shape_options.h"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace distgpu {

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
