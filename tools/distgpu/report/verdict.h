// Whether the GPUs of a step worked, and what limits them, in one line and in further ones.
#pragma once

#include "report/node_report.h"

namespace distgpu {

// What the report proves, the most important first; printable ASCII. Empty if nothing stands out
// in what was measured.
std::vector<std::string> report_findings(const StepReport& report);

// One line: how busy the GPUs were, and the first finding: "GPUs 71% busy; GPU of rank 12 on n7 38%
// busy: its data loaders use 15.8 of its 16 CPUs". That nothing else stands out is said only if
// everything was measured.
std::string report_verdict(const StepReport& report);

}  // namespace distgpu
