// The page's tables.
#pragma once

#include "report/report_input.h"

#include <string>

namespace distgpu::scaling::html {

// Each is empty where there is nothing to show.
std::string measurement_tables(const Results& results);
std::string finding_table(const ReportInput& input);
std::string left_out_table(const Results& results);
std::string fit_table(const ReportInput& input);
std::string reference_table(const Results& results);
std::string node_table(const Results& results);
std::string fingerprint_table(const Results& results);
std::string environment_table(const Results& results);

}  // namespace distgpu::scaling::html
