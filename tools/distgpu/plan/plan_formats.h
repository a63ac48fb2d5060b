// The step that `distgpu plan` is told, and the forms in which it writes the step's plan: a table,
// JSON, shell lines, drawings.
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
    std::optional<NodeTopology> usual;              // of every node that has none of its own
    std::map<std::uint32_t, NodeTopology> of_node;  // by NodeIndex

    const NodeTopology* of(NodeIndex node) const;
};

struct Shape {
    StepLayout layout;
    StepTopologies topologies;
    std::optional<std::vector<std::uint32_t>> gpus{};  // nothing: all that a node has
    std::optional<Error> left_out{};  // what could not be taken from the options as Slurm would
    std::uint32_t cpus_per_task = 1;
    std::vector<CpuSet> masks{};  // empty: all CPUs; one: of every task; else by local rank

    // `layout` is that of options.layout.
    // Errors: a text that is none of ShapeOptions's; more GPUs than a node has; another number of
    // masks than a node's tasks.
    static Result<Shape> make(const ShapeOptions& options, StepLayout layout,
                              StepTopologies topologies);

    // Valid for the shape's lifetime.
    NodeFacts facts(NodeIndex index) const;
};

// plan_formats.cpp and step_picture.cpp

// What the plans of a step warn of, a line each, once.
using Warnings = std::set<std::string>;

struct PlanInput {
    Request request;  // its framework is set
    Shape shape;
    StepId step{};
    Warnings warnings{};  // of the step, before any node's
    StepFacts facts{};
    // Only these; at most one of the two.
    std::optional<NodeIndex> node{};
    std::optional<GlobalRank> rank{};
    std::string order{};  // what to say of the nodes' order; empty: nothing
};

// The plan of one node, of whose tasks only those that are asked for are left.
using NodeVisitor = std::function<Result<Done>(const NodePlan&, const NodeFacts&)>;

// Plans one node after the other, in the order of the step's nodes, and keeps none of the plans but
// what they warn of.
// Errors: as plan(), and the visitor's.
Result<Warnings> for_each_node(const PlanInput& input, const NodeVisitor& visit);

// JSON, as distgpu.plan/1: one task a line, by node and local rank, whatever order the ranks have;
// ends with a newline.
Result<Done> write_plan_json(const PlanInput& input, const Writer& write);

// `unset` and `export` lines of one rank for a POSIX shell, to be read by `eval` or `.`. Warnings
// go to standard error. Precondition: input.rank is set.
Result<Done> write_plan_shell(const PlanInput& input, const Writer& write);

// For people: a line for the step, a line for each task by node and local rank, the warnings. Of a
// single rank that was asked for, its variables too. `colour`: with the terminal's bold and yellow.
Result<Done> write_plan_table(const PlanInput& input, bool colour, const Writer& write);

// Draws the nodes of the step, one picture for all on which the same happens: the first one into
// the file `svg`, a page with all of them into `html`, where these are given. Says what the plans
// warn of and what went wrong, as a topology that is not known.
ExitCode draw_plan(const PlanInput& input, const std::optional<std::string>& svg,
                   const std::optional<std::string>& html);

}  // namespace distgpu
