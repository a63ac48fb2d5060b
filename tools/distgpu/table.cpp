#include "table.h"

#include "base/format.h"
#include "output.h"

#include <algorithm>
#include <string_view>

namespace distgpu {
namespace {

constexpr std::size_t gap = 2;
constexpr std::size_t max_named_nodes = 4;

void hide_control_characters(std::string& cell) {
    std::replace_if(
        cell.begin(), cell.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
}

std::vector<std::size_t> column_widths(const std::vector<Row>& rows) {
    std::vector<std::size_t> widths;
    for (const Row& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    return widths;
}

// Appends the words to the text, which ends at column `start` of a line.
void append_wrapped(std::string& text, std::string_view words, std::size_t start,
                    std::size_t width) {
    if (start + words.size() <= width) {
        text += words;
        return;
    }
    std::size_t column = start;
    while (!words.empty()) {
        const std::string_view word = words.substr(0, words.find(' '));
        if (column > start && column + 1 + word.size() > width) {
            text += '\n' + std::string(start, ' ');
            column = start;
        } else if (column > start) {
            text += ' ';
            ++column;
        }
        text += word;
        column += word.size();
        words.remove_prefix(std::min(words.size(), word.size() + 1));
    }
}

}  // namespace

std::string table(std::vector<Row> rows, const TableFormat& format) {
    for (Row& row : rows) std::for_each(row.begin(), row.end(), hide_control_characters);
    const auto widths = column_widths(rows);
    std::string text;
    for (const Row& row : rows) {
        std::string line(format.indent, ' ');
        for (std::size_t i = 0; i + 1 < row.size(); ++i) {
            line += formatted("{:<{}}", row[i], widths[i] + gap);
        }
        append_wrapped(line, row.back(), line.size(), format.width);
        line.erase(line.find_last_not_of(' ') + 1);
        text += styled(format.bold_heading && &row == rows.data(), "1", line) + '\n';
    }
    return text;
}

std::string ranks_text(const std::vector<std::uint32_t>& ranks) {
    return formatted("rank{} {}", ranks.size() == 1 ? "" : "s", number_ranges(ranks));
}

std::string ranks_on_nodes(const std::vector<std::uint32_t>& ranks,
                           const std::vector<std::string>& nodes) {
    const bool has_few_nodes = !nodes.empty() && nodes.size() <= max_named_nodes;
    return ranks_text(ranks) + (has_few_nodes ? " on " + join(nodes, ", ") : "");
}

std::string nodes_cell(const std::vector<std::string>& nodes) {
    return nodes.size() <= max_named_nodes ? join(nodes, ",") : counted(nodes.size(), "node");
}

}  // namespace distgpu
