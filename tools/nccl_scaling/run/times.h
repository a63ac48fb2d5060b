// The subcommand `times`: how far from linear a user's own training times are. Measures nothing.
#pragma once

#include "base/result.h"
#include "report/times_report.h"
#include "run/output_files.h"

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace distgpu::scaling {

struct Times {
    TimesReport report;
    OutputFiles files;
};

// Of texts like "4=25": 25 s on 4 nodes. Errors: another text; what scaling_efficiency() refuses.
Result<TimesReport> parse_times(const std::vector<std::string>& texts);

// Writes the files, and the table on `out`. Error: a file that cannot be written.
std::optional<Error> report_times(const Times& times, std::FILE* out);

}  // namespace distgpu::scaling
