// The results as JSON, schema distgpu.scaling/1, and back.
#pragma once

#include "base/result.h"
#include "report/report_input.h"
#include "results/results.h"

#include <string>
#include <string_view>

namespace distgpu::scaling {

// One item of a list a line; keys in the schema's order; what is absent is null. Text that is not
// UTF-8 is mended. Times in seconds, bandwidths in bytes per second.
std::string to_json(const ReportInput& input);

// What to_json wrote of `Results`; what was derived is left out. `name` is the text's origin, for
// the error. Errors: not JSON (a file cut short), another schema, a field missing, of the wrong
// type or out of range.
Result<Results> results_from_json(std::string_view text, const std::string& name);

// The same from a file. Errors also: it cannot be read.
Result<Results> read_results(const std::string& path);

}  // namespace distgpu::scaling
