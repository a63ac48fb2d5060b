// The trial of the network (pairs/) in the reports of the nodes.
#pragma once

#include "check/pairs/judge_network.h"
#include "check/report.h"
#include "mapping/layout/step_layout.h"

#include <vector>

namespace distgpu {

// Adds what is at fault to the report of the first rank of its node.
void add_network_findings(std::vector<Report>& reports, const std::vector<NetworkFault>& faults,
                          const StepLayout& layout);

}  // namespace distgpu
