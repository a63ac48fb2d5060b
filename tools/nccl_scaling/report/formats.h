// The forms of a report: the table on the terminal, JSON and the page.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "report/outcome.h"
#include "results/results.h"

#include <string>
#include <string_view>
#include <vector>

namespace distgpu::scaling {

// The lines above the table's first row: back end, nodes, what is not a GPU measurement, the
// columns with their units. All begin with "#", as nccl-tests' do.
std::string table_header(const Results& results);

// The table grows with the run.
std::string table_row(const Results& results, const Measurement& measurement);

// Below the last row, of the nodes that are named: what `distgpu check --node` found there.
std::string fault_lines(const Report& report);

// Schema distgpu.scaling/1. One item of a list a line; what is absent is null. Text that is not
// UTF-8 is mended. Times in seconds, bandwidths in bytes per second.
std::string to_json(const Report& report);

// What to_json() wrote of `Results`; what was derived is left out. `name` is the text's origin, for
// the error. Errors: not JSON (a file cut short), another schema, a field missing, of the wrong
// type or out of range.
Result<Results> results_from_json(std::string_view text, const std::string& name);

// The same from a file. Errors also: it cannot be read.
Result<Results> read_results(const std::string& path);

// Pairs, not an object: their order is part of the results. Ranks tell each other it too.
JsonText values_json(const NamedValues& values);
NamedValues read_values(const JsonFields& fields, const char* field);

// One HTML page of what to_json() wrote. It needs nothing else: no network, no other file.
std::string to_html(std::string_view json);

// Of a user's own training times: the table, with the verdict as its last line.
std::string times_table(const std::vector<ScalingPoint>& points);

}  // namespace distgpu::scaling
