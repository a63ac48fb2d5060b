// What all the reports together say.
#pragma once

#include "base/exit_code.h"
#include "check/check_list.h"
#include "check/report.h"
#include "mapping/layout/step_layout.h"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

struct Verdict {
    std::string text;  // a table by node, what was found, and one line at the end
    ExitCode code = ExitCode::done;
};

// `gathered`: by rank, rank 0's own first; those who did not report within `waited` are missing.
// `checks`: those that the ranks ran.
Verdict verdict_of(std::string_view mode, const StepLayout& layout,
                   const std::vector<Report>& gathered, std::chrono::seconds waited,
                   const Checks& checks);

}  // namespace distgpu
