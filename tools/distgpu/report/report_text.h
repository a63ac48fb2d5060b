// A report as text.
#pragma once

#include "report/node_report.h"

namespace distgpu {

// One screen: no line has more than 80 columns, and there are no more than 24 of them, whatever the
// number of ranks: the idlest and the busiest have a row each. `colour`: for a terminal.
std::string report_text(const StepReport& report, bool colour);

}  // namespace distgpu
