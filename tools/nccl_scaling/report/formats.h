// The forms of a report that are only written: the table on the terminal, CSV and the page. JSON,
// which is read again too, stands in report_json.h.
#pragma once

#include "report/report_input.h"
#include "results/results.h"

#include <string>
#include <string_view>

namespace distgpu::scaling {

// The lines above the table's first row: back end, nodes, what is not a GPU measurement, the
// columns with their units. All begin with "#", as nccl-tests' do.
std::string table_header(const Results& results);

// The table grows with the run.
std::string table_row(const Results& results, const Measurement& measurement);

// The lines below the last row: published figures beside the measured ones; may be empty.
std::string table_footer(const Results& results);

// Below these, of the nodes that are named: what they say of themselves, a fact a line.
std::string facts_lines(const ReportInput& input);

// RFC 4180: a header and one row per measurement, lines ended by CR LF. Times in seconds,
// bandwidths in bytes per second; an empty field: not defined.
std::string to_csv(const ReportInput& input);

// Prometheus' text format, for node_exporter's textfile collector: what a graph over weeks is made
// of. Names begin with "nccl_scaling_" and end with their unit.
std::string to_prometheus(const ReportInput& input);

// A line fit for `scontrol update nodename=... state=drain reason="..."`; empty where no node and
// no port of one is slow, and of a run that ended before its end.
std::string drain_reason(const ReportInput& input);

// One HTML page of what to_json() or times_json() wrote. It needs nothing else: no network, no
// other file.
std::string to_html(std::string_view json);

}  // namespace distgpu::scaling
