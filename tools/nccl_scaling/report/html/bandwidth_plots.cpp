// Bus bandwidth over size. See sections.h.
#include "analysis/bus_bandwidth.h"
#include "base/format.h"
#include "report/html/line_plot.h"
#include "report/html/sections.h"
#include "report/names.h"
#include "report/units.h"

#include <map>
#include <utility>

namespace distgpu::scaling::html {
namespace {

using Subject = std::pair<Collective, DataType>;

std::string y_text(double gb_per_second) {
    return formatted("{:.4g}", gb_per_second);
}

// Of each group by its index, from the smallest size to the largest.
std::map<std::size_t, LinePlot::Line> lines_of(const Results& results, const Subject& subject) {
    std::map<std::size_t, LinePlot::Line> lines;
    for (const Measurement& measurement : results.measurements) {
        const Group& group = results.groups[measurement.group];
        const auto bandwidth = bus_bandwidth(results, measurement);
        if (Subject(measurement.collective, measurement.type) != subject || !bandwidth ||
            !is_scaling_group(group) || measurement.in_place) {
            continue;
        }
        auto& line = lines[measurement.group];
        line.label = group_label(results, group);
        line.points.push_back(
            {static_cast<double>(measurement.bytes), *bandwidth / 1e9,
             formatted("{}, {}: {} GB/s", line.label, format_bytes(measurement.bytes),
                       format_bandwidth(bandwidth))});
    }
    return lines;
}

std::string plot_of(const Results& results, const Subject& subject) {
    LinePlot plot;
    const auto lines = lines_of(results, subject);
    if (lines.empty()) return "";
    const auto collective = row_of(subject.first).name;
    const auto type = row_of(subject.second).name;
    plot.id = formatted("busbw-{}-{}", collective, type);
    plot.title = formatted("{}, {}", collective, type);
    plot.description = formatted(
        "Bus bandwidth of {} ({}) over the size of the buffer, a line for each of {}. The numbers "
        "are in the table of results.",
        collective, type, counted(lines.size(), "group"));
    plot.x_label = "size";
    plot.y_label = "busbw (GB/s)";
    plot.x_text = [](double bytes) { return format_bytes(static_cast<std::uint64_t>(bytes)); };
    plot.y_text = y_text;
    plot.lines.reserve(lines.size());
    for (const auto& [group, line] : lines) plot.lines.push_back(line);
    return to_svg(plot);
}

}  // namespace

std::string bandwidth_plots(const Results& results) {
    std::string text;
    for (const CollectiveRow& collective : collectives) {
        for (const DataTypeRow& type : data_types) {
            text += plot_of(results, {collective.collective, type.type});
        }
    }
    return text;
}

}  // namespace distgpu::scaling::html
