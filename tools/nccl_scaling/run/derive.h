// From what was measured to what is reported.
#pragma once

#include "report/report_input.h"
#include "results.h"

namespace distgpu::scaling {

// A run that ended before its end gets no verdict: what is missing might have changed it.
ReportInput derive(const Results& results);

}  // namespace distgpu::scaling
