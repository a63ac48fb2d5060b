// The tables of a report, for a terminal and for a page.
#pragma once

#include "report/node_report.h"
#include "table.h"

namespace distgpu {

// A heading, and a row for each GPU or rank. If there are more than `max_rows`, the idlest and the
// busiest have a row each, and between them one row has the means of the others. The second column
// is the node, which may be cut.
std::vector<Row> gpu_rows(const StepReport& report, std::size_t max_rows);
std::vector<Row> rank_rows(const StepReport& report, std::size_t max_rows);

// Indices of values, ascending by value: the lowest and the highest, `max` in all, and the others
// between them. If there are no more than `max`, all are in `lowest`, in the order given.
struct Extremes {
    std::vector<std::size_t> lowest{};
    std::vector<std::size_t> others{};
    std::vector<std::size_t> highest{};
};
Extremes extremes_of(const std::vector<double>& values, std::size_t max);

}  // namespace distgpu
