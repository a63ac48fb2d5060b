#include "report/report_text.h"

#include "base/format.h"
#include "output.h"
#include "report/rows.h"
#include "report/summary.h"
#include "report/verdict.h"
#include "table.h"

#include <algorithm>

namespace distgpu {
namespace {

constexpr std::size_t max_width = 80;
constexpr std::size_t max_lines = 24;
constexpr std::size_t indent = 2;

// Of further findings, and of notes.
constexpr std::size_t max_more_lines = 4;
constexpr std::size_t max_note_lines = 2;

std::string cut(std::string text, std::size_t width) {
    if (text.size() <= width) return text;
    constexpr std::string_view end = "...";
    return text.substr(0, std::max(width, end.size()) - end.size()) + std::string(end);
}

// A name that is too long loses its middle: what distinguishes nodes is at either end.
std::string cut_name(const std::string& name, std::size_t width) {
    constexpr std::string_view gap = "...";
    if (name.size() <= width) return name;
    const std::size_t end = (width - gap.size()) / 2;
    return name.substr(0, width - gap.size() - end) + std::string(gap) +
           name.substr(name.size() - end);
}

std::size_t line_count(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

// The text in lines of the screen's width, of which each is at most that long.
std::string wrapped(const std::string& text, std::size_t start) {
    const std::string lines = table({{text}}, {.indent = start, .width = max_width});
    std::string result;
    for (std::size_t at = 0; at < lines.size();) {
        const std::size_t end = lines.find('\n', at);
        result += cut(lines.substr(at, end - at), max_width) + '\n';
        at = end + 1;
    }
    return result;
}

// As many of the texts as fit into the lines, and how many do not.
std::string first_lines(const std::vector<std::string>& texts, std::size_t lines) {
    std::string result;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const std::string more = wrapped(texts[i], indent);
        const bool is_last = i + 1 == texts.size();
        if (line_count(result + more) + (is_last ? 0 : 1) > lines) {
            return result + formatted("  and {} more\n", texts.size() - i);
        }
        result += more;
    }
    return result;
}

// Cuts the longest texts of the column so that the table is as wide as the screen, or nearly.
void fit(std::vector<Row>& rows, std::size_t column) {
    constexpr std::size_t min_width = 6;  // "(mean)"
    std::vector<std::size_t> widths(rows.front().size());
    std::size_t all = indent;
    for (std::size_t i = 0; i < widths.size(); ++i) {
        for (const Row& row : rows) widths[i] = std::max(widths[i], row[i].size());
        all += widths[i] + (i > 0 ? 2 : 0);
    }
    if (all <= max_width) return;
    const std::size_t excess = all - max_width;
    const std::size_t width =
        std::max(widths[column] > excess ? widths[column] - excess : 0, min_width);
    for (Row& row : rows) row[column] = cut_name(row[column], width);
}

std::string table_text(std::vector<Row> rows, bool colour) {
    if (rows.size() == 1) return "";
    // Nodes have long names, and a GPU may have many ranks; the other cells are short, but a file
    // may contain any number.
    const std::size_t columns = rows.front().size();
    for (std::size_t i = 1; i <= columns; ++i) fit(rows, i % columns);
    return "\n" + table(std::move(rows), {.indent = indent, .bold_heading = colour});
}

// The rows of a table, below its heading, of which two share the lines.
std::size_t rows_in(std::size_t lines) {
    constexpr std::size_t min_rows = 3;  // the idlest, the busiest, and the others
    constexpr std::size_t others = 2;    // the heading, and the blank line before it
    return std::max(lines / 2, min_rows + others) - others;
}

}  // namespace

std::string report_text(const StepReport& report, bool colour) {
    std::string head = wrapped(report_verdict(report), 0);
    head.pop_back();
    std::string text = styled(colour, "1", head) + "\n";
    auto more = report_findings(report);
    if (!more.empty()) more.erase(more.begin());
    text += first_lines(more, max_more_lines);
    text += "\n" + wrapped(heading(report), 0);
    if (report.reports.empty()) return text;
    std::string end = "\n" + wrapped(cost_text(report), 0);
    end += first_lines(notes_of(report), max_note_lines);
    const std::size_t rows = rows_in(max_lines - std::min(max_lines, line_count(text + end)));
    text += table_text(gpu_rows(report, rows), colour);
    text += table_text(rank_rows(report, rows), colour);
    return text + end;
}

}  // namespace distgpu
