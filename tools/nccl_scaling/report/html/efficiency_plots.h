// Efficiency over the number of nodes, against linear.
#pragma once

#include "report/report_input.h"

#include <string>
#include <vector>

namespace distgpu::scaling::html {

// A plot for each kind of efficiency, and the numbers as a table. A curve of its baseline alone
// says nothing and is left out. Empty: there are no others.
std::string efficiency_plots(const std::vector<EfficiencyCurve>& curves);

}  // namespace distgpu::scaling::html
