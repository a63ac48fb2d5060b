// Texts for the terminal: the table of a run, and that of training times.
#include "analysis/collectives.h"
#include "base/format.h"
#include "report/formats.h"
#include "report/names.h"

#include <set>

namespace distgpu::scaling {
namespace {

// The group comes last, because its width is not limited.
constexpr std::string_view columns =
    "{:>13}  {:<14}  {:<8}  {:<5}  {:>5}  {:>5}  {:>11}  {:>9}  {:>9}  {:>6}  {}";

std::string column_lines() {
    std::string names = formatted(columns, "size", "collective", "type", "place", "nodes", "ranks",
                                  "time", "algbw", "busbw", "cv", "group");
    std::string units =
        formatted(columns, "(B)", "", "", "", "", "", "(us)", "(GB/s)", "(GB/s)", "(%)", "");
    units.erase(units.find_last_not_of(' ') + 1);
    names.front() = units.front() = '#';
    return names + "\n" + units + "\n";
}

}  // namespace

std::string table_header(const Results& results) {
    std::uint64_t ranks = 0;
    for (const Node& node : results.nodes) ranks += node.ranks;
    std::string text =
        formatted("# backend {}: {}, {}; started {}\n", results.backend,
                  counted(results.nodes.size(), "node"), counted(ranks, "rank"), results.started);
    const std::string_view note = backend_note(results);
    if (!note.empty()) text += formatted("# backend={} ({})\n", results.backend, note);
    if (!results.checked) text += "# data check: off\n";
    return text + "# time: median over the iterations of the slowest rank\n" + column_lines();
}

std::string table_row(const Results& results, const Measurement& measurement) {
    const auto& [group, operation, time] = measurement;
    const Group& ranks = results.groups[group];
    return formatted(columns, operation.bytes, info_of(operation.collective).name,
                     info_of(operation.type).name, operation.in_place ? "in" : "out",
                     ranks.nodes.size(), ranks.ranks, formatted("{:.2f}", time.median * 1e6),
                     format_bandwidth(algorithm_bandwidth(measurement)),
                     format_bandwidth(bus_bandwidth(results, measurement)),
                     formatted("{:.1f}", time.cv * 100), group_label(results, ranks)) +
           "\n";
}

std::string fault_lines(const Report& report) {
    std::set<std::uint32_t> named;
    for (const SlowPart& part : report.slow_parts) {
        if (part.node) named.insert(*part.node);
    }
    std::string text;
    for (const std::uint32_t index : named) {
        const Node& node = report.results.nodes[index];
        if (!node.fault.empty()) text += formatted("# {}: {}\n", node.name, node.fault);
    }
    return text;
}

std::string times_table(const std::vector<ScalingPoint>& points) {
    constexpr std::string_view row = "{:>10}  {:>12}  {:>10}  {:>12}\n";
    std::string text = formatted(row, "nodes", "seconds", "E_w (weak)", "E_s (strong)");
    text.front() = '#';
    for (const auto& [nodes, seconds, weak, strong] : points) {
        text += formatted(row, nodes, seconds, format_percent(weak), format_percent(strong));
    }
    return text +
           "# weak: each node had the same work in every run; strong: all nodes together had the "
           "same work; one of the two fits your runs\n" +
           formatted("{}: {:.0f}% of linear (weak), {:.0f}% (strong); limiter: not measured\n",
                     counted(points.back().nodes, "node"), 100 * points.back().weak,
                     100 * points.back().strong);
}

}  // namespace distgpu::scaling
