// See table.h.
#include "report/table.h"

#include "analysis/bus_bandwidth.h"
#include "base/format.h"
#include "report/group_label.h"
#include "report/measured_bandwidth.h"
#include "report/reference_figures.h"
#include "report/units.h"
#include "report/words.h"

namespace distgpu::scaling {
namespace {

// size, collective, type, place, nodes, ranks, time, algbw, busbw, cv, group: the widest word of
// each column and two spaces. The group has no end, so it comes last.
constexpr std::string_view row_format =
    "{:>13}  {:<14}  {:<8}  {:<5}  {:>5}  {:>5}  {:>11}  {:>9}  {:>9}  {:>6}  {}\n";

std::string column_lines() {
    std::string names = formatted(row_format, "size", "collective", "type", "place", "nodes",
                                  "ranks", "time", "algbw", "busbw", "cv", "group");
    std::string units =
        formatted(row_format, "(B)", "", "", "", "", "", "(us)", "(GB/s)", "(GB/s)", "(%)", "");
    units.erase(units.find_last_not_of(" \n") + 1);
    names.front() = units.front() = '#';
    return names + units + "\n";
}

}  // namespace

std::string table_header(const Results& results) {
    std::string text = formatted("# backend {}: {}, {}; started {}\n", results.backend,
                                 counted(results.nodes.size(), "node"),
                                 counted(total_ranks(results), "rank"), results.started);
    const std::string_view note = words::note(results);
    if (!note.empty()) text += formatted("# backend={} ({})\n", results.backend, note);
    return text + "# time: median over the iterations of the slowest rank\n" + column_lines();
}

std::string table_row(const Results& results, const Measurement& measurement) {
    const Group& group = results.groups[measurement.group];
    return formatted(row_format, measurement.bytes, row_of(measurement.collective).name,
                     row_of(measurement.type).name, measurement.in_place ? "in" : "out",
                     group.nodes.size(), group.ranks,
                     formatted("{:.2f}", measurement.time.median * 1e6),
                     format_bandwidth(measured_bandwidth(measurement)),
                     format_bandwidth(bus_bandwidth(results, measurement)),
                     formatted("{:.1f}", measurement.time.cv * 100), group_label(results, group));
}

std::string table_footer(const Results& results) {
    std::string text;
    for (const auto& [figure, bytes, busbw] : compare_with_references(results)) {
        text += formatted("# all-reduce on {} {}: {} GB/s at {}; published {}", figure->ranks,
                          figure->gpu, format_bandwidth(busbw), format_bytes(bytes),
                          reference_text(*figure));
        text += '\n';
    }
    return text;
}

}  // namespace distgpu::scaling
