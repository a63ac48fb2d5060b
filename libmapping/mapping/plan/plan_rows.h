// The plan of a step as a table for people, in rows without a newline. The columns are those of the
// whole step, so that what its nodes print each for itself makes one table.
#pragma once

#include "mapping/plan/plan.h"
#include "mapping/topology/topology.h"

#include <cstddef>
#include <string>
#include <vector>

namespace distgpu {

struct PlanColumns {
    std::size_t rank;
    std::size_t node;
    bool binding;  // GPUs, HCA and CPUs too, of the nodes whose topology is known
};

PlanColumns plan_columns(const StepLayout& layout, bool binding);

std::string plan_title(const PlanColumns& columns);

// Of one task. `topology`: its node's; null: not known.
std::string plan_row(const PlanColumns& columns, const NodePlan& node, const NodeTopology* topology,
                     const TaskPlan& task);

// The most ranks of which each has a row of its own where the nodes print the table.
inline constexpr std::uint32_t most_rank_rows = 64;

// The same table with a row for each node.
std::string node_title(const PlanColumns& columns);
std::string node_row(const PlanColumns& columns, const NodePlan& node);

// What `distgpu exec` does with the task's options, as a person reads it; empty: it has none.
std::string options_text(const Framework& framework, const TaskPlan& task);

}  // namespace distgpu
