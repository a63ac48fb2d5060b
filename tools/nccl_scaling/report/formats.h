// The output formats of a report: the table on the terminal, JSON and the HTML page.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "report/outcome.h"
#include "results/results.h"

#include <string>
#include <string_view>
#include <vector>

namespace distgpu::scaling {

// The lines above the table's first row: back end, nodes, a note that it is not a GPU measurement,
// the columns with their units. All begin with "#", as in nccl-tests.
std::string table_header(const Results& results);

// One row, printed as soon as it is measured.
std::string table_row(const Results& results, const Measurement& measurement);

// Lines below the last row: the findings of `distgpu check --node` on the named nodes.
std::string fault_lines(const Report& report);

// Schema distgpu.scaling/1, with one list item per line; absent values are null. Invalid UTF-8 is
// replaced. Times are in seconds, bandwidths in bytes per second.
std::string to_json(const Report& report);

// Reads the Results from to_json()'s text, without the values derived from them. `name` is the
// origin of the text, for errors. Errors: not JSON (a truncated file), another schema, a field that
// is missing, has the wrong type or is out of range.
Result<Results> results_from_json(std::string_view text, const std::string& name);

// The same from a file. An additional error: it cannot be read.
Result<Results> read_results(const std::string& path);

// A list of pairs, not an object, because the order matters. Also used between ranks.
JsonText values_json(const NamedValues& values);
NamedValues read_values(const JsonFields& fields, const char* field);

// A self-contained HTML page with to_json()'s text: it needs no network and no other file.
std::string to_html(std::string_view json);

// The table of a user's own training times, with the verdict as the last line.
std::string times_table(const std::vector<ScalingPoint>& points);

}  // namespace distgpu::scaling
