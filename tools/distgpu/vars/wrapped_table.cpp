// See wrapped_table.h.
#include "vars/wrapped_table.h"

#include "base/format.h"

#include <algorithm>
#include <string_view>

namespace distgpu {
namespace {

constexpr std::size_t gap = 2;

// Widths of all columns but the last.
std::vector<std::size_t> column_widths(const std::vector<Row>& rows) {
    std::vector<std::size_t> widths;
    for (const Row& row : rows) {
        widths.resize(row.size() - 1);
        for (std::size_t i = 0; i < widths.size(); ++i) {
            widths[i] = std::max(widths[i], row[i].size());
        }
    }
    return widths;
}

// Adds the words to the text, which ends at column `start` of a line.
void add_words(std::string& text, std::string_view words, std::size_t start, std::size_t width) {
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

std::string wrapped_table(const std::vector<Row>& rows, std::size_t indent, std::size_t width) {
    const auto widths = column_widths(rows);
    std::string text;
    for (const Row& row : rows) {
        std::string line(indent, ' ');
        for (std::size_t i = 0; i < widths.size(); ++i) {
            line += formatted("{:<{}}", row[i], widths[i] + gap);
        }
        add_words(line, row.back(), line.size(), width);
        text += line + '\n';
    }
    return text;
}

}  // namespace distgpu
