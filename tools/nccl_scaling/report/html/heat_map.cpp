// Draws the matrix of node pairs. See pair_matrix.h.
#include "base/format.h"
#include "report/html/markup.h"
#include "report/html/pair_matrix.h"
#include "report/units.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace distgpu::scaling::html {
namespace {

constexpr double map_side = 620;
constexpr double largest_cell = 64;
constexpr double number_cell = 34;  // a cell in which "123.4" fits
constexpr std::size_t longest_name = 20;

struct Color {
    double red;
    double green;
    double blue;
};

// Five points of viridis (S. van der Walt and N. Smith, matplotlib 2015; CC0): its lightness rises
// evenly, so that it is read without colour too. Dark is slow.
constexpr std::array<Color, 5> viridis{
    {{68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}}};

// `share`: 0 slow .. 1 fast.
Color color_of(double share) {
    const double place = std::clamp(share, 0.0, 1.0) * (viridis.size() - 1);
    const auto index = std::min(static_cast<std::size_t>(place), viridis.size() - 2);
    const double rest = place - static_cast<double>(index);
    const auto mix = [&](double from, double to) { return from + (to - from) * rest; };
    const Color& from = viridis[index];
    const Color& to = viridis[index + 1];
    return {mix(from.red, to.red), mix(from.green, to.green), mix(from.blue, to.blue)};
}

std::string css(const Color& color) {
    return formatted("#{:02x}{:02x}{:02x}", std::lround(color.red), std::lround(color.green),
                     std::lround(color.blue));
}

// Of black and white, the one that is read on `color`: by luma (ITU-R BT.601).
std::string_view text_on(const Color& color) {
    const double luma = 0.299 * color.red + 0.587 * color.green + 0.114 * color.blue;
    return luma > 130 ? "#000000" : "#ffffff";
}

struct Range {
    double low;
    double high;

    double share(double value) const { return high > low ? (value - low) / (high - low) : 1; }
};

// From half of the fastest pair at least, so that a few per cent of noise look alike.
Range range_of(const PairMatrix& matrix) {
    Range range{0, 0};
    for (const auto& cell : matrix.cells) range.high = std::max(range.high, cell.value_or(0));
    range.low = range.high / 2;
    for (const auto& cell : matrix.cells) range.low = std::min(range.low, cell.value_or(range.low));
    return range;
}

std::string shortened(const std::string& name) {
    return name.size() <= longest_name ? name : name.substr(0, longest_name - 1) + "\u2026";
}

// Where the map lies in the picture. The columns' names lean by 60 degrees.
struct Frame {
    double left;
    double top;
    double side;  // of a cell

    double x(std::size_t column) const { return left + side * static_cast<double>(column); }
    double y(std::size_t row) const { return top + side * static_cast<double>(row); }
};

Frame frame_of(const PairMatrix& matrix) {
    constexpr double character = 7.5;
    constexpr double sine = 0.87;
    std::size_t longest = 0;
    for (const auto& name : matrix.names) longest = std::max(longest, name.size());
    const double names = character * static_cast<double>(std::min(longest, longest_name)) + 12;
    return {names, 26 + names * sine,
            std::min(largest_cell, map_side / static_cast<double>(matrix.size))};
}

std::string cell_svg(const PairMatrix& matrix, std::size_t row, std::size_t column,
                     const Range& range, const Frame& frame) {
    const std::string place = formatted(R"(x="{:.2f}" y="{:.2f}" width="{:.2f}" height="{:.2f}")",
                                        frame.x(column), frame.y(row), frame.side, frame.side);
    const auto& cell = matrix.at(row, column);
    if (!cell) return formatted("<rect class=\"none\" {}/>\n", place);
    return formatted("<rect class=\"cell\" {} fill=\"{}\"><title>{} - {}: {} GB/s</title></rect>\n",
                     place, css(color_of(range.share(*cell))), escaped(matrix.names[row]),
                     escaped(matrix.names[column]), format_bandwidth(cell));
}

std::string number_svg(const PairMatrix& matrix, std::size_t row, std::size_t column,
                       const Range& range, const Frame& frame) {
    const auto& cell = matrix.at(row, column);
    if (!cell || frame.side < number_cell) return "";
    return formatted(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" style=\"fill:{};font-size:10px\" "
        "pointer-events=\"none\">{:.4g}</text>\n",
        frame.x(column) + frame.side / 2, frame.y(row) + frame.side / 2 + 4,
        text_on(color_of(range.share(*cell))), *cell / 1e9);
}

// The name of a row and of the column with the same number.
std::string names_svg(const PairMatrix& matrix, std::size_t index, const Frame& frame) {
    const double size = std::clamp(frame.side - 1, 7.0, 12.0);
    const double middle = frame.side / 2 + size / 3;
    const std::string name = escaped(shortened(matrix.names[index]));
    return formatted(
        "<text x=\"{0:.1f}\" y=\"{1:.1f}\" text-anchor=\"end\" "
        "style=\"font-size:{2:.0f}px\">{3}</text>\n"
        "<text transform=\"translate({4:.1f} {5:.1f}) rotate(-60)\" "
        "style=\"font-size:{2:.0f}px\">{3}</text>\n",
        frame.left - 6, frame.y(index) + middle, size, name, frame.x(index) + middle,
        frame.top - 6);
}

std::string color_bar(const Range& range, double x, double top) {
    constexpr double height = 200;
    std::string stops;
    for (std::size_t i = 0; i < viridis.size(); ++i) {
        stops += formatted(R"(<stop offset="{:.2f}" stop-color="{}"/>)",
                           static_cast<double>(i) / (viridis.size() - 1), css(viridis[i]));
    }
    return formatted(
        "<linearGradient id=\"viridis\" x1=\"0\" y1=\"1\" x2=\"0\" y2=\"0\">{0}</linearGradient>\n"
        "<rect x=\"{1:.1f}\" y=\"{2:.1f}\" width=\"16\" height=\"{3:.1f}\" "
        "fill=\"url(#viridis)\"/>\n"
        "<text x=\"{4:.1f}\" y=\"{5:.1f}\">{6} GB/s</text>\n"
        "<text x=\"{4:.1f}\" y=\"{7:.1f}\">{8} GB/s</text>\n",
        stops, x, top, height, x + 24, top + 10, format_bandwidth(range.high), top + height,
        format_bandwidth(range.low));
}

std::string title_of(const PairMatrix& matrix) {
    return formatted("Bus bandwidth of node pairs, {}", format_bytes(matrix.bytes));
}

std::string description_of(const PairMatrix& matrix, const Range& range) {
    return formatted(
        "A square with a row and a column for {}. Each cell has the bus bandwidth of the nodes of "
        "its row and column; colours go from {} GB/s (dark) to {} GB/s (light).",
        matrix.nodes_per_row == 1 ? "each node" : formatted("each {} nodes", matrix.nodes_per_row),
        format_bandwidth(range.low), format_bandwidth(range.high));
}

}  // namespace

std::string to_svg(const PairMatrix& matrix) {
    const Range range = range_of(matrix);
    const Frame frame = frame_of(matrix);
    const double right = frame.x(matrix.size);
    const double height = std::max(frame.y(matrix.size), frame.top + 220) + 4;
    std::string text = formatted(
        "<figure><svg id=\"pairs\" role=\"img\" aria-labelledby=\"pairs-title pairs-desc\" "
        "width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\">\n"
        "<title id=\"pairs-title\">{2}</title>\n<desc id=\"pairs-desc\">{3}</desc>\n"
        "<text class=\"head\" x=\"0\" y=\"14\">{2}</text>\n",
        right + 160, height, title_of(matrix), description_of(matrix, range));
    for (std::size_t row = 0; row < matrix.size; ++row) {
        text += names_svg(matrix, row, frame);
        for (std::size_t column = 0; column < matrix.size; ++column) {
            text += cell_svg(matrix, row, column, range, frame);
            text += number_svg(matrix, row, column, range, frame);
        }
    }
    return text + color_bar(range, right + 40, frame.top) + "</svg></figure>\n";
}

}  // namespace distgpu::scaling::html
