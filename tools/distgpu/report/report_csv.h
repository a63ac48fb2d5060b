// A report as CSV, for spreadsheets and data frames.
#pragma once

#include "report/node_report.h"

namespace distgpu {

// A heading, a row for each GPU, and a row for each rank, as in RFC 4180. Bytes, seconds and
// joules; a cell is empty if it was not measured, or belongs to the other kind of row. A later
// release adds columns only at the end.
std::string report_csv(const StepReport& report);

}  // namespace distgpu
