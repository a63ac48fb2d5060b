// The results as one HTML page that needs nothing else: no network, no script, no other file.
#pragma once

#include "report/report_input.h"

#include <string>

namespace distgpu::scaling {

std::string to_html(const ReportInput& input);

}  // namespace distgpu::scaling
