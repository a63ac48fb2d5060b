// The measurements as CSV (RFC 4180).
#pragma once

#include "report/report_input.h"

#include <string>

namespace distgpu::scaling {

// A header and one row a measurement, lines ended by CR LF as the RFC says. Times in seconds,
// bandwidths in bytes per second; an empty field: not defined.
std::string to_csv(const ReportInput& input);

}  // namespace distgpu::scaling
