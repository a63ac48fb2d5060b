// What `distgpu plan` plans, and which of the step's tasks are asked for.
#pragma once

#include "mapping/plan/plan.h"
#include "mapping/rendezvous/rendezvous.h"
#include "mapping/request/request.h"
#include "output.h"
#include "plan/shape.h"

#include <functional>
#include <optional>
#include <set>
#include <string>

namespace distgpu {

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

}  // namespace distgpu
