// A report as an HTML page.
#pragma once

#include "report/node_report.h"

namespace distgpu {

// A page that needs nothing else, with the verdict, plots over time, and the tables. Its size does
// not depend on the number of ranks for long: of many it shows the extremes and what is between.
std::string report_page(const StepReport& report);

}  // namespace distgpu
