// The table on the terminal, which grows with the run.
#pragma once

#include "results.h"

#include <string>
#include <string_view>

namespace distgpu::scaling {

// The lines above the first row: back end, nodes, what is not a GPU measurement, the columns with
// their units. All begin with "#", as nccl-tests' do.
std::string table_header(const Results& results);

std::string table_row(const Results& results, const Measurement& measurement);

// The lines below the last row: published figures beside the measured ones; may be empty.
std::string table_footer(const Results& results);

}  // namespace distgpu::scaling
