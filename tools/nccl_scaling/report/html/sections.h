// What stands in the page's sections. Each text is empty where there is nothing to show.
#pragma once

#include "report/report_input.h"

#include <string>
#include <vector>

namespace distgpu::scaling::html {

// For each file that the run was held against its counts, and a table of what failed and of what
// was not measured.
std::string judgement_section(const Results& results, const Judgement& judgement);

std::string slow_part_table(const ReportInput& input);

// A plot for each kind of efficiency, and the numbers as a table. A curve of its baseline alone
// says nothing and is left out.
std::string efficiency_plots(const std::vector<EfficiencyCurve>& curves);

// A plot for each collective and type, in each a line for each group of the first GPUs of a node
// and of the first nodes; out of place.
std::string bandwidth_plots(const Results& results);

std::string fit_table(const ReportInput& input);
std::string reference_table(const Results& results);
std::string measurement_tables(const Results& results);
std::string node_table(const Results& results);
std::string fingerprint_table(const Results& results);
std::string environment_table(const Results& results);

}  // namespace distgpu::scaling::html
