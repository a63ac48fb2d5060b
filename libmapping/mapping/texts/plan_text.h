// The plan of a step as text for people: the table, and what a task prints before its program
// starts.
#pragma once

#include "mapping/plan/plan.h"

namespace distgpu {

// The columns of the table, the same for all nodes of the step, so that what each of them prints
// makes one table. Rows have no newline.
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

// What `distgpu exec` does with the task's options, as a person reads it; empty: it has none.
std::string options_text(const Framework& framework, const TaskPlan& task);

struct Announcement {
    std::string table;               // for standard error: what `verbose` asks for; else empty
    std::vector<std::string> lines;  // for standard error and the log: warnings
    std::string dry_run;             // for standard output, where no program runs; else empty
};

// What `verbose` says of the step as a whole, for srun, which knows no more of it: the lines above
// the table whose rows the nodes know.
std::vector<std::string> step_lines(const Request& request, const StepLayout& layout);

// The first task of a node speaks for the node: its table has the rows of all its tasks, so that
// those of other nodes stand beside it and not in it. The task of rank 0 speaks for the whole step.
// `told_by_srun`: step_lines() are told. `first_of_component`: it speaks for the nodes of a
// component that may be unlike rank 0's.
Announcement announcement(const Request& request, const StepLayout& layout, const NodeFacts& node,
                          const NodePlan& plan, LocalRank local, bool told_by_srun,
                          bool first_of_component = false);

}  // namespace distgpu
