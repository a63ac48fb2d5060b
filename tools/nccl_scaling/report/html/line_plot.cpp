// See line_plot.h.
#include "report/html/line_plot.h"

#include "base/format.h"
#include "report/html/markup.h"
#include "report/html/style.h"
#include "report/html/ticks.h"

#include <algorithm>
#include <cmath>

namespace distgpu::scaling::html {
namespace {

// In the picture's own units, which are pixels where the page has room for them.
constexpr double plot_width = 560;
constexpr double plot_height = 240;
constexpr double left = 70;
constexpr double top = 60;
constexpr double legend_left = left + plot_width + 24;
constexpr double legend_row = 20;
constexpr double total_width = 920;
constexpr std::size_t most_x_ticks = 9;

// From values to places in the picture.
struct Scale {
    double low_x;
    double high_x;
    std::vector<double> y_ticks;

    double x(double value) const {
        return left + plot_width * std::log2(value / low_x) / std::log2(high_x / low_x);
    }
    double y(double value) const { return top + plot_height * (1 - value / y_ticks.back()); }
};

Scale scale_of(const std::vector<LinePlot::Line>& lines, double highest) {
    double low = lines.front().points.front().x;
    double high = low;
    for (const auto& line : lines) {
        for (const auto& point : line.points) {
            low = std::min(low, point.x);
            high = std::max(high, point.x);
            highest = std::max(highest, point.y);
        }
    }
    // A single x stands in the middle.
    if (!(low < high)) return {low / 2, high * 2, linear_ticks(highest)};
    return {low, high, linear_ticks(highest)};
}

std::vector<LinePlot::Line> drawn_lines(const LinePlot& plot) {
    constexpr std::size_t most = line_colors * line_dashes;
    const std::size_t first = plot.lines.size() - std::min(plot.lines.size(), most);
    return {plot.lines.begin() + static_cast<std::ptrdiff_t>(first), plot.lines.end()};
}

std::string caption(std::size_t drawn, std::size_t all) {
    if (drawn == all) return "";
    return formatted("<figcaption>The last {} of {} lines; the table has all.</figcaption>\n",
                     drawn, all);
}

std::string text_at(double x, double y, std::string_view attributes, std::string_view text) {
    return formatted("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, attributes,
                     escaped(text));
}

std::string line_at(std::string_view kind, double x1, double y1, double x2, double y2) {
    return formatted(
        "<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", kind, x1,
        y1, x2, y2);
}

std::string axes(const LinePlot& plot, const Scale& scale) {
    constexpr double bottom = top + plot_height;
    std::string text;
    for (const double tick : scale.y_ticks) {
        const double y = scale.y(tick);
        text += line_at("grid", left, y, left + plot_width, y);
        text += text_at(left - 8, y + 4, "text-anchor=\"end\"", plot.y_text(tick));
    }
    for (const double tick : power_of_two_ticks(scale.low_x, scale.high_x, most_x_ticks)) {
        const double x = scale.x(tick);
        text += line_at("axis", x, bottom, x, bottom + 5);
        text += text_at(x, bottom + 20, "text-anchor=\"middle\"", plot.x_text(tick));
    }
    text += line_at("axis", left, bottom, left + plot_width, bottom);
    text += text_at(left + plot_width / 2, bottom + 42, R"(class="faint" text-anchor="middle")",
                    plot.x_label);
    text += text_at(0, top - 14, "class=\"faint\"", plot.y_label);
    return text;
}

std::string linear_line(const LinePlot& plot, const Scale& scale) {
    if (!plot.linear) return "";
    const double y = scale.y(*plot.linear);
    return line_at("linear", left, y, left + plot_width, y) +
           text_at(left + plot_width, y - 5, R"(class="faint" text-anchor="end")", "linear");
}

// Colour, then, when all are taken, also the dashes tell the lines apart.
std::string line_class(std::size_t index) {
    return formatted("line{} dash{}", index % line_colors, index / line_colors);
}

std::string line_svg(const LinePlot::Line& line, std::size_t index, const Scale& scale) {
    std::string places;
    std::string circles;
    for (const auto& point : line.points) {
        const double x = scale.x(point.x);
        const double y = scale.y(point.y);
        places += formatted("{}{:.1f},{:.1f}", places.empty() ? "" : " ", x, y);
        circles += formatted(
            "<circle class=\"point\" cx=\"{:.1f}\" cy=\"{:.1f}\" "
            "r=\"4\"><title>{}</title></circle>\n",
            x, y, escaped(point.tip));
    }
    return formatted("<g class=\"{}\"><polyline class=\"line\" points=\"{}\"/>\n{}</g>\n",
                     line_class(index), places, circles);
}

std::string legend_row_svg(const LinePlot::Line& line, std::size_t index) {
    const double y = top + 8 + static_cast<double>(index) * legend_row;
    return formatted("<g class=\"{}\">{}</g>{}", line_class(index),
                     line_at("line", legend_left, y, legend_left + 26, y),
                     text_at(legend_left + 34, y + 4, "", line.label));
}

}  // namespace

std::string to_svg(const LinePlot& plot) {
    const auto lines = drawn_lines(plot);
    const Scale scale = scale_of(lines, plot.linear.value_or(0));
    const double height =
        std::max(top + plot_height + 52, top + 16 + legend_row * static_cast<double>(lines.size()));
    std::string text = formatted(
        "<figure><svg id=\"{0}\" role=\"img\" aria-labelledby=\"{0}-title {0}-desc\" "
        "width=\"{1:.0f}\" height=\"{2:.0f}\" viewBox=\"0 0 {1:.0f} {2:.0f}\">\n"
        "<title id=\"{0}-title\">{3}</title>\n<desc id=\"{0}-desc\">{4}</desc>\n",
        plot.id, total_width, height, escaped(plot.title), escaped(plot.description));
    text += text_at(0, 14, "class=\"head\"", plot.title);
    text += axes(plot, scale);
    text += linear_line(plot, scale);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        text += line_svg(lines[i], i, scale);
        text += legend_row_svg(lines[i], i);
    }
    return text + "</svg>\n" + caption(lines.size(), plot.lines.size()) + "</figure>\n";
}

}  // namespace distgpu::scaling::html
