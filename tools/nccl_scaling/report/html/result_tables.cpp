// The page's tables. See sections.h.
#include "analysis/bus_bandwidth.h"
#include "base/format.h"
#include "report/columns.h"
#include "report/html/markup.h"
#include "report/html/sections.h"
#include "report/names.h"
#include "report/reference_figures.h"
#include "report/units.h"
#include "report/words.h"

#include <algorithm>
#include <array>

namespace distgpu::scaling::html {
namespace {

// Of pairs, left-out nodes and rails a large cluster has thousands; the slowest are what matters.
constexpr std::size_t most_other_rows = 200;

using Selection = std::vector<const Measurement*>;

// Words come first.
constexpr std::array columns{Column::group, Column::collective, Column::type,  Column::in_place,
                             Column::bytes, Column::busbw,      Column::algbw, Column::median,
                             Column::p5,    Column::p95,        Column::p99,   Column::cv};
constexpr std::size_t words_in_front = 4;

// A size has its unit beside it, as it may be bytes or GiB.
std::string heading_of(Column column) {
    const ColumnRow& row = row_of(column);
    const bool has_unit = !row.unit.symbol.empty() && column != Column::bytes;
    return has_unit ? formatted("{} ({})", row.heading, row.unit.symbol) : std::string(row.heading);
}

std::string cell(const Results& results, const Measurement& measurement, Column column) {
    if (column == Column::bytes) return format_bytes(measurement.bytes);
    const ColumnRow& row = row_of(column);
    return text_of(row, row.value(results, measurement));
}

std::string measurement_table(const Results& results, std::string_view caption,
                              const Selection& selection) {
    if (selection.empty()) return "";
    Table table;
    table.caption = caption;
    table.words = words_in_front;
    table.columns.resize(columns.size());
    std::transform(columns.begin(), columns.end(), table.columns.begin(), heading_of);
    table.rows.reserve(selection.size());
    for (const Measurement* const measurement : selection) {
        auto& row = table.rows.emplace_back(columns.size());
        std::transform(columns.begin(), columns.end(), row.begin(),
                       [&](Column column) { return cell(results, *measurement, column); });
    }
    return to_html(table);
}

Selection select(const Results& results, bool scaling) {
    Selection selection;
    selection.reserve(results.measurements.size());
    for (const Measurement& measurement : results.measurements) {
        if (is_scaling_group(results.groups[measurement.group]) == scaling) {
            selection.push_back(&measurement);
        }
    }
    return selection;
}

std::string other_caption(std::size_t shown, std::size_t all) {
    constexpr std::string_view what = "Pairs, rails and all nodes but one, the slowest first";
    if (shown == all) return std::string(what);
    return formatted("{}: {} of {}; all are in the JSON and CSV files", what, shown, all);
}

std::string overlap_text(const std::optional<Overlap>& overlap) {
    if (!overlap) return "";
    return formatted(
        "<p>Overlap, measured: a collective slows compute down by {}, compute slows a collective "
        "down by {}.</p>\n",
        format_percent(overlap->compute_slowdown), format_percent(overlap->communication_slowdown));
}

}  // namespace

std::string measurement_tables(const Results& results) {
    Selection others = select(results, false);
    const std::size_t count = others.size();
    std::stable_sort(others.begin(), others.end(),
                     [&](const Measurement* left, const Measurement* right) {
                         return bus_bandwidth(results, *left) < bus_bandwidth(results, *right);
                     });
    if (others.size() > most_other_rows) others.resize(most_other_rows);
    return measurement_table(results, "Groups of GPUs and of nodes", select(results, true)) +
           measurement_table(results, other_caption(others.size(), count), others);
}

std::string slow_part_table(const ReportInput& input) {
    if (input.slow_parts.empty()) return "";
    Table table;
    table.caption = "Slower than their peers, the worst first";
    table.columns = {"who", "what", "of the peers' median", "robust z"};
    table.words = 2;
    table.rows.reserve(input.slow_parts.size());
    for (const auto& [name, kind, relative, robust_z] : input.slow_parts) {
        table.rows.push_back({name, std::string(words::word_of(words::slow_part_kinds, kind)),
                              format_percent(relative),
                              robust_z ? formatted("{:.1f}", *robust_z) : "n/a"});
    }
    return to_html(table);
}

std::string fit_table(const ReportInput& input) {
    std::string text = overlap_text(input.results.overlap);
    if (input.fits.empty()) return text;
    Table table;
    table.caption = "t = alpha + f size / beta; the residual is relative (root mean square)";
    table.columns = {"group", "collective", "type", "alpha", "beta (GB/s)", "residual"};
    table.words = 3;
    table.rows.reserve(input.fits.size());
    for (const LatencyBandwidthFit& fit : input.fits) {
        table.rows.push_back({group_label(input.results, input.results.groups[fit.group]),
                              std::string(row_of(fit.collective).name),
                              std::string(row_of(fit.type).name), format_seconds(fit.line.alpha),
                              format_bandwidth(fit.line.beta), format_percent(fit.line.residual)});
    }
    return to_html(table) + text;
}

std::string reference_table(const Results& results) {
    const auto comparisons = compare_with_references(results);
    if (comparisons.empty()) return "";
    Table table;
    table.caption = "All-reduce bus bandwidth; sizes and NCCL versions differ as noted";
    table.columns = {"GPUs", "published", "this run (GB/s)", "at"};
    table.words = 2;
    table.wraps = true;
    table.rows.reserve(comparisons.size());
    for (const auto& [figure, bytes, busbw] : comparisons) {
        table.rows.push_back(
            {formatted("{} {} on {}", figure->ranks, figure->gpu, counted(figure->nodes, "node")),
             reference_text(*figure), format_bandwidth(busbw), format_bytes(bytes)});
    }
    return to_html(table);
}

std::string node_table(const Results& results) {
    if (results.nodes.empty()) return "";
    Table table;
    table.columns = {"node", "GPUs", "ports by local rank", "ranks"};
    table.words = 3;
    table.wraps = true;
    table.rows.reserve(results.nodes.size());
    for (const Node& node : results.nodes) {
        table.rows.push_back(
            {node.name, join(node.gpus, ", "), join(node.rails, ", "), std::to_string(node.ranks)});
    }
    return folded(counted(results.nodes.size(), "node"), to_html(table));
}

std::string fingerprint_table(const Results& results) {
    if (results.fingerprint.empty()) return "";
    Table table;
    table.caption = "Two runs are comparable if these are equal";
    table.columns = {"name", "value"};
    table.words = 2;
    table.wraps = true;
    table.rows.reserve(results.fingerprint.size());
    for (const auto& [name, value] : results.fingerprint) table.rows.push_back({name, value});
    return to_html(table);
}

std::string environment_table(const Results& results) {
    if (results.environment.empty()) return "";
    Table table;
    table.caption = "Variables of rank 0 that affect the result";
    table.columns = {"name", "value", "set by"};
    table.words = 3;
    table.wraps = true;
    table.rows.reserve(results.environment.size());
    for (const auto& [name, value, origin] : results.environment) {
        table.rows.push_back({name, value, origin.empty() ? "environment" : origin});
    }
    return to_html(table);
}

}  // namespace distgpu::scaling::html
