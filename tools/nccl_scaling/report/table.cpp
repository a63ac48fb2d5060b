// The table on the terminal, which grows with the run.
#include "base/format.h"
#include "report/columns.h"
#include "report/formats.h"
#include "report/reference_figures.h"
#include "report/units.h"
#include "report/words.h"

#include <array>
#include <set>

namespace distgpu::scaling {
namespace {

struct Shown {
    Column column;
    int width;  // of the widest word; positive: it stands on the right, negative: on the left
};

// The group has no end, so it comes last.
constexpr std::array columns{
    Shown{Column::bytes, 13}, Shown{Column::collective, -14}, Shown{Column::op, -4},
    Shown{Column::type, -8},  Shown{Column::in_place, -5},    Shown{Column::nodes, 5},
    Shown{Column::ranks, 5},  Shown{Column::median, 11},      Shown{Column::algbw, 9},
    Shown{Column::busbw, 9},  Shown{Column::cv, 6},           Shown{Column::group, 0}};

// `text(row)` of each column, two spaces between two of them.
template <class Text>
std::string line_of(Text&& text) {
    std::string line;
    for (const auto& [column, width] : columns) {
        const std::string cell = text(row_of(column));
        line += line.empty() ? "" : "  ";
        line += width < 0 ? formatted("{:<{}}", cell, -width) : formatted("{:>{}}", cell, width);
    }
    return line;
}

// "time" is the median, which a line above the columns says.
std::string_view heading_of(const ColumnRow& column) {
    return column.column == Column::median ? "time" : column.heading;
}

std::string column_lines() {
    std::string names = line_of([](const ColumnRow& row) { return std::string(heading_of(row)); });
    std::string units = line_of([](const ColumnRow& row) {
        return row.unit.symbol.empty() ? "" : formatted("({})", row.unit.symbol);
    });
    units.erase(units.find_last_not_of(' ') + 1);
    names.front() = units.front() = '#';
    return names + "\n" + units + "\n";
}

}  // namespace

std::string table_header(const Results& results) {
    std::string text = formatted("# backend {}: {}, {}; started {}\n", results.backend,
                                 counted(results.nodes.size(), "node"),
                                 counted(total_ranks(results), "rank"), results.started);
    const std::string_view note = words::note(results);
    if (!note.empty()) text += formatted("# backend={} ({})\n", results.backend, note);
    if (!results.check.empty()) text += formatted("# check of data: {}\n", results.check);
    return text + "# time: median over the iterations of the slowest rank\n" + column_lines();
}

std::string table_row(const Results& results, const Measurement& measurement) {
    return line_of([&](const ColumnRow& row) {
               return text_of(row, row.value(results, measurement));
           }) +
           "\n";
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

std::string facts_lines(const ReportInput& input) {
    std::set<std::uint32_t> named;
    for (const SlowPart& part : input.slow_parts) {
        if (part.node) named.insert(*part.node);
    }
    std::string text;
    for (const std::uint32_t node : named) {
        const Node& one = input.results.nodes[node];
        for (const std::string& fact : one.facts) text += formatted("# {}: {}\n", one.name, fact);
    }
    return text;
}

}  // namespace distgpu::scaling
