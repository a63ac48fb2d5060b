// Thresholds that a person writes down. A line each:
//   all-reduce, 1G, 16, 180
// collective, size (as for -b), ranks, and the bus bandwidth in GB/s (10^9 bytes) that every
// measurement of these must reach. '#' begins a comment.
#pragma once

#include "analysis/compare.h"
#include "base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace distgpu::scaling {

// `name` is the text's origin, for the error, which names the line. Errors: a line of another form;
// two lines for the same collective, size and ranks; no line at all.
Result<std::vector<Threshold>> parse_thresholds(std::string_view text, const std::string& name);

}  // namespace distgpu::scaling
