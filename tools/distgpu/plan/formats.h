// The step that `distgpu plan` plans, and the output formats: a table, JSON, shell lines, pictures.
#pragma once

#include "mapping/plan/plan.h"
#include "mapping/request/request.h"
#include "mapping/topology/topology.h"
#include "output.h"
#include "slurm/step_shape.h"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace distgpu {

// shape.cpp: the shape of a step: nodes, tasks, GPUs, CPUs and topologies.

// The topologies of a step's nodes.
struct StepTopologies {
    std::optional<NodeTopology> fallback;           // for nodes that are not in `by_node`
    std::map<std::uint32_t, NodeTopology> by_node;  // by NodeIndex

    const NodeTopology* of(NodeIndex node) const;  // null if unknown
};

struct Shape {
    StepLayout layout;
    StepTopologies topologies;
    std::optional<std::vector<std::uint32_t>> gpus{};  // of each node; nullopt: all of them
    std::optional<Error> gpus_warning{};  // --gpus was ignored, or Slurm may divide it differently
    std::uint32_t cpus_per_task = 1;
    std::vector<CpuSet> masks{};  // empty: all CPUs; one: for every task; more: by local rank

    // `layout`: parsed from options.layout.
    // Errors: an option has an invalid value; a node has fewer GPUs, or a number of tasks that
    // differs from that of the masks.
    static Result<Shape> make(const ShapeOptions& options, StepLayout layout,
                              StepTopologies topologies);

    // Valid for the shape's lifetime.
    NodeFacts facts(NodeIndex index) const;
};

// formats.cpp and step_picture.cpp

// The warnings of a step's plans, a line each, without duplicates.
using Warnings = std::set<std::string>;

struct PlanInput {
    Request request;  // its framework is set
    Shape shape;
    StepId step{};
    Warnings warnings{};    // about the step
    std::string network{};  // of NCCL between nodes, if a plugin decides; or empty
    StepFacts facts{};
    // Plan only this node or this rank; at most one of the two is set.
    std::optional<NodeIndex> node{};
    std::optional<GlobalRank> rank{};
    std::string order_text{};  // a line about the nodes' order, may be empty
};

// Receives the plan of one node, with the selected tasks only.
using NodeVisitor = std::function<Result<Done>(const NodePlan&, const NodeFacts&)>;

// Plans one node after the other, in the order of the step's nodes, and returns the warnings of
// all. Errors: as plan(), and the visitor's.
Result<Warnings> for_each_node(const PlanInput& input, const NodeVisitor& visit);

// Writes JSON in the schema distgpu.plan/1: one task a line, sorted by node and local rank in any
// order of the ranks; ends with a newline.
Result<Done> write_plan_json(const PlanInput& input, const Writer& write);

// Writes `unset` and `export` lines of one rank for a POSIX shell, to be read by `eval` or `.`.
// Warnings go to standard error. Precondition: input.rank is set.
Result<Done> write_plan_shell(const PlanInput& input, const Writer& write);

// Writes a line for the step, a line for each task sorted by node and local rank, and the warnings;
// for a single selected rank also its variables. `colour`: with the terminal's bold and yellow.
Result<Done> write_plan_table(const PlanInput& input, bool colour, const Writer& write);

// Draws the nodes of the step, one picture for all nodes with the same hardware and bindings:
// writes the first picture to the file `svg`, and a page with all of them to `html`, if these are
// given. Prints warnings and errors, such as an unknown topology.
ExitCode draw_plan(const PlanInput& input, const std::optional<std::string>& svg,
                   const std::optional<std::string>& html);

}  // namespace distgpu
