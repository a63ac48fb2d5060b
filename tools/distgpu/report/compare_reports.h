// Compares two reports, for example of a program before and after a change.
#pragma once

#include "report/node_report.h"

namespace distgpu {

// What changed from `before` to `after`, the largest change first, after what makes the two hard to
// compare: other numbers of GPUs, other models. Amounts are means per GPU or per rank.
std::string compare_reports(const StepReport& before, const StepReport& after);

}  // namespace distgpu
