// See csv.h.
#include "report/csv.h"

#include "analysis/bus_bandwidth.h"
#include "base/format.h"
#include "report/group_label.h"
#include "report/measured_bandwidth.h"
#include "report/words.h"

#include <algorithm>
#include <string_view>

namespace distgpu::scaling {
namespace {

constexpr std::string_view header =
    "backend,note,started,complete,group_kind,group,nodes,ranks,collective,type,in_place,bytes,"
    "median_s,min_s,p5_s,p95_s,p99_s,cv,iterations,algbw_bytes_per_s,busbw_bytes_per_s\r\n";

// Quoted where the text has a separator, a quote or a line end; a quote is then doubled.
std::string quoted(std::string_view text) {
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
    std::string field = "\"";
    for (const char c : text) field.append(c == '"' ? 2 : 1, c);
    return field + '"';
}

std::string number_or_nothing(const std::optional<double>& number) {
    return number ? formatted("{}", *number) : "";
}

std::string run_fields(const ReportInput& input) {
    const Results& results = input.results;
    return formatted("{},{},{},{}", quoted(results.backend), words::note(results),
                     quoted(results.started), is_complete(input));
}

std::string group_fields(const Results& results, const Group& group) {
    return formatted("{},{},{},{}", words::word_of(words::group_kinds, group.kind),
                     quoted(group_label(results, group)), group.nodes.size(), group.ranks);
}

std::string time_fields(const Statistics& time) {
    return formatted("{},{},{},{},{},{},{}", time.median, time.min, time.p5, time.p95, time.p99,
                     time.cv, time.iterations);
}

}  // namespace

std::string to_csv(const ReportInput& input) {
    const Results& results = input.results;
    const std::string run = run_fields(input);
    std::string text(header);
    for (const Measurement& measurement : results.measurements) {
        text += formatted("{},{},{},{},{},{},{},{},{}\r\n", run,
                          group_fields(results, results.groups[measurement.group]),
                          row_of(measurement.collective).name, row_of(measurement.type).name,
                          measurement.in_place, measurement.bytes, time_fields(measurement.time),
                          number_or_nothing(measured_bandwidth(measurement)),
                          number_or_nothing(bus_bandwidth(results, measurement)));
    }
    return text;
}

}  // namespace distgpu::scaling
