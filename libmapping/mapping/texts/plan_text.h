// Formats the plan of a step for people: the table of ranks, and what a task prints before its
// program starts.
#pragma once

#include "mapping/plan/plan.h"

namespace distgpu {

// The column widths of the table. They are the same on all nodes of the step, so that the rows
// which the nodes print form one table. Rows have no newline.
struct PlanColumns {
    std::size_t rank;
    std::size_t node;
    bool has_binding;  // also GPUs, HCA and CPUs, for nodes whose topology is known
};

PlanColumns plan_columns(const StepLayout& layout, bool has_binding);

std::string plan_title(const PlanColumns& columns);

// The row of one task. `topology`: of its node; null if unknown.
std::string plan_row(const PlanColumns& columns, const NodePlan& node, const NodeTopology* topology,
                     const TaskPlan& task);

// What `distgpu exec` does with the task's options; empty if there are none.
std::string options_text(const Framework& framework, const TaskPlan& task);

// What a task prints before its program starts.
struct StartupOutput {
    std::string table;               // for standard error, with `verbose`; else empty
    std::vector<std::string> lines;  // for standard error and the log: warnings
    std::string dry_run;             // for standard output, with `dry-run`; else empty
};

// The lines that srun prints with `verbose`, above the table whose rows the nodes print.
std::vector<std::string> step_lines(const Request& request, const StepLayout& layout);

// The first task of a node prints the rows of all tasks of the node, so that the rows of a node
// stay together. The task of rank 0 prints what concerns the whole step. `printed_by_srun`: srun
// printed step_lines(). `first_of_component`: the task prints warnings, because the nodes of its
// component may differ from rank 0's.
StartupOutput startup_output(const Request& request, const StepLayout& layout,
                             const NodeFacts& node, const NodePlan& plan, LocalRank local,
                             bool printed_by_srun, bool first_of_component = false);

}  // namespace distgpu
