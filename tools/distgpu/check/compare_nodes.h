// What only a comparison of the nodes shows: those that differ from most of the others.
#pragma once

#include "check/report.h"
#include "mapping/layout/step_layout.h"

#include <vector>

namespace distgpu {

// Adds to the reports of each node that has another trait than most nodes a finding that says so.
// Where equally many have either, those with the first node's are most.
void compare_nodes(std::vector<Report>& reports, const StepLayout& layout);

}  // namespace distgpu
