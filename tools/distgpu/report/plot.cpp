#include "report/plot.h"

#include "base/format.h"
#include "picture/picture.h"
#include "report/rows.h"
#include "report/summary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace distgpu {
namespace {

using svg::escaped;

// Nobody can follow more lines.
constexpr std::size_t max_lines = 8;
constexpr std::size_t max_cells = 1024;
constexpr std::size_t colours = 7;

// The drawing is stretched to its place: its units are shares of it.
constexpr double width = 1000;
constexpr double height = 100;

std::optional<double> value_at(const PlotLine& line, double time) {
    const double at = (time - line.begin) / line.interval;
    if (!(at >= 0) || at >= static_cast<double>(line.values.size())) return std::nullopt;
    return line.values[static_cast<std::size_t>(at)];
}

// At as many times as the longest of the lines has.
PlotLine median_line(const std::vector<PlotLine>& lines, double seconds) {
    std::size_t points = 0;
    for (const PlotLine& line : lines) points = std::max(points, line.values.size());
    PlotLine median{formatted("median of {}", lines.size()), 0,
                    seconds / static_cast<double>(points)};
    for (std::size_t i = 0; i < points; ++i) {
        std::vector<double> values;
        for (const PlotLine& line : lines) {
            const auto value = value_at(line, (static_cast<double>(i) + 0.5) * median.interval);
            if (value) values.push_back(*value);
        }
        median.values.push_back(values.empty() ? std::nullopt
                                               : std::optional(median_of(std::move(values))));
    }
    return median;
}

// The lowest and the highest by their mean, and the median of all, if there are too many.
std::vector<PlotLine> chosen(const std::vector<PlotLine>& lines, double seconds) {
    if (lines.size() <= max_lines) return lines;
    std::vector<double> means(lines.size());
    std::ranges::transform(lines, means.begin(),
                           [](const PlotLine& line) { return mean_of(line.values).value_or(0); });
    const Extremes extremes = extremes_of(means, max_lines - 1);
    std::vector<PlotLine> some{median_line(lines, seconds)};
    for (const std::size_t i : extremes.lowest) some.push_back(lines[i]);
    for (const std::size_t i : extremes.highest) some.push_back(lines[i]);
    return some;
}

// "M0,50 10,48" with a new "M" after each gap.
std::string path_of(const PlotLine& line, double seconds, double top) {
    std::string path;
    bool is_pen_down = false;
    for (std::size_t i = 0; i < line.values.size(); ++i) {
        const auto& value = line.values[i];
        if (value) {
            // The middle of its interval, of which the last one ends with the step.
            const double begin =
                std::min(line.begin + static_cast<double>(i) * line.interval, seconds);
            const double time = (begin + std::min(begin + line.interval, seconds)) / 2;
            path += formatted("{}{:.0f},{:.1f}", is_pen_down ? " " : "M", width * time / seconds,
                              height * (1 - std::min(*value / top, 1.0)));
            // A point alone is a line of no length, which round ends make visible.
            if (!is_pen_down) path += "h0L" + path.substr(path.rfind('M') + 1);
        }
        is_pen_down = value.has_value();
    }
    return path;
}

std::string line_class(std::size_t i) {
    return formatted("k{} d{}", i % colours, i / colours);
}

// A number of at least that much whose half is as round, as the axis shows both.
double round_up(double value, bool is_bytes) {
    constexpr std::array decimal{1.0, 2.0, 4.0, 6.0, 8.0, 10.0};
    constexpr std::array binary{1.0, 1.5, 2.0};
    const double power = is_bytes ? std::exp2(std::floor(std::log2(value)))
                                  : std::pow(10, std::floor(std::log10(value)));
    const auto factors =
        is_bytes ? std::span<const double>(binary) : std::span<const double>(decimal);
    const auto factor =
        std::ranges::find_if(factors, [&](double each) { return each * power >= value; });
    return power * (factor == factors.end() ? factors.back() : *factor);
}

double top_of(const Plot& plot, const std::vector<PlotLine>& lines) {
    if (plot.top > 0) return plot.top;
    double most = 0;
    for (const PlotLine& line : lines) {
        for (const auto& value : line.values) most = std::max(most, value.value_or(0));
    }
    return most > 0 ? round_up(most, plot.text == bytes_text) : 1;
}

// Texts of an axis, at these shares of its largest value.
std::string axis(std::string_view name, double most, std::string (*text)(double),
                 const std::array<double, 3>& shares) {
    std::string html = formatted(R"(<div class="{}" aria-hidden="true">)", name);
    for (const double share : shares) {
        html += formatted("<span>{}</span>", escaped(text(share * most)));
    }
    return html + "</div>";
}

std::string drawing(const Plot& plot, const std::vector<PlotLine>& lines, double top) {
    std::string html = formatted(
        "<svg viewBox=\"0 0 {:g} {:g}\" preserveAspectRatio=\"none\" "
        "role=\"img\" aria-label=\"{}\">\n",
        width, height, escaped(plot.title));
    for (const double y : {0.0, height / 2, height}) {
        html += formatted("<path class=\"grid\" d=\"M0,{:g}h{:g}\"/>\n", y, width);
    }
    for (std::size_t i = lines.size(); i-- > 0;) {
        html += formatted("<path class=\"{}\" d=\"{}\"><title>{}</title></path>\n", line_class(i),
                          path_of(lines[i], plot.seconds, top), escaped(lines[i].name));
    }
    return html + "</svg>";
}

std::string legend(const std::vector<PlotLine>& lines) {
    std::string html = "<ul class=\"legend\">";
    for (std::size_t i = 0; i < lines.size(); ++i) {
        html += formatted(
            "<li><svg viewBox=\"0 0 24 8\" aria-hidden=\"true\"><path class=\"{}\" "
            "d=\"M1,4h22\"/></svg>{}</li>\n",
            line_class(i), escaped(lines[i].name));
    }
    return html + "</ul>";
}

// Of neighbours that share a cell, the idlest: a mean would hide it.
StripCell idlest_of(std::span<const StripCell> cells) {
    StripCell cell{cells.front().name};
    if (cells.size() > 1) cell.name += " to " + cells.back().name;
    for (const StripCell& each : cells) {
        if (each.percent) cell.percent = std::min(cell.percent.value_or(100), *each.percent);
    }
    return cell;
}

}  // namespace

std::string line_plot(const Plot& plot, std::vector<PlotLine> lines) {
    std::erase_if(lines, [](const PlotLine& line) {
        return std::ranges::none_of(line.values,
                                    [](const auto& value) { return value.has_value(); });
    });
    if (lines.empty() || !(plot.seconds > 0)) return "";
    lines = chosen(lines, plot.seconds);
    const double top = top_of(plot, lines);
    return formatted(
        "<figure>\n<figcaption>{}</figcaption>\n<div class=\"plot\">{}{}{}</div>\n{}"
        "</figure>\n",
        escaped(plot.title), axis("y", top, plot.text, {1, 0.5, 0}), drawing(plot, lines, top),
        axis("x", plot.seconds, time_text, {0, 0.5, 1}), legend(lines));
}

std::string heat_strip(std::string_view title, const std::vector<StripCell>& cells) {
    const std::size_t in_cell = (cells.size() + max_cells - 1) / max_cells;
    std::string html = formatted(
        "<figure>\n<figcaption>{}</figcaption>\n<div class=\"strip\" "
        "role=\"img\" aria-label=\"{}\">",
        escaped(title), escaped(title));
    for (std::size_t begin = 0; begin < cells.size(); begin += in_cell) {
        const StripCell cell =
            idlest_of(std::span(cells).subspan(begin, std::min(in_cell, cells.size() - begin)));
        constexpr double tenth = 10;
        const std::string shade =
            cell.percent ? formatted("s{:.0f}", std::clamp(*cell.percent / tenth, 0.0, tenth))
                         : "sx";
        const std::string text = cell.percent ? busy_text(*cell.percent) : "not measured";
        html += formatted(R"(<i class="{}" title="{}: {}"></i>)", shade, escaped(cell.name), text);
    }
    return html + "</div>\n</figure>\n";
}

std::string_view plot_style() {
    // The axes of time of all plots are below each other.
    //
    // Okabe and Ito, "Color Universal Design" (2008), without their yellow, which is invisible on
    // white: people with any common colour vision can distinguish them.
    return "figure{margin:1rem 0 1.5rem}figcaption{font-weight:600;margin-bottom:.4rem}"
           ".plot{display:grid;grid-template-columns:4rem 1fr;gap:.2rem .5rem}"
           ".plot>svg{width:100%;height:12rem;overflow:visible}"
           ".y,.x{display:flex;justify-content:space-between;font-size:.8rem;color:var(--faint)}"
           ".y{flex-direction:column;text-align:right;margin:-.55rem 0;line-height:1.1rem}"
           ".x{grid-column:2}"
           "path{fill:none;stroke:currentColor;stroke-width:2;stroke-linecap:round;"
           "stroke-linejoin:round;vector-effect:non-scaling-stroke}"
           ".grid{stroke:var(--line);stroke-width:1}"
           ".legend{display:flex;flex-wrap:wrap;gap:0 1rem;list-style:none;margin:.4rem 0 "
           "0;padding:0;"
           "font-size:.85rem}.legend svg{width:1.5rem;height:.5rem;margin-right:.3rem}"
           ".k0{color:#0072b2}.k1{color:#e69f00}.k2{color:#009e73}.k3{color:#cc79a7}"
           ".k4{color:#56b4e9}.k5{color:#d55e00}.k6{color:var(--faint)}"
           ".d1{stroke-dasharray:7 4}.d2{stroke-dasharray:2 4}"
           ".strip{display:flex;flex-wrap:wrap;gap:2px;--heat:#0072b2}"
           ".strip i{width:.9rem;height:.9rem;border:1px solid var(--line);box-sizing:border-box;"
           "background:color-mix(in srgb,var(--heat) var(--part),transparent)}"
           ".s0{--part:0%}.s1{--part:10%}.s2{--part:20%}.s3{--part:30%}.s4{--part:40%}"
           ".s5{--part:50%}.s6{--part:60%}.s7{--part:70%}.s8{--part:80%}.s9{--part:90%}"
           ".s10{--part:100%}.strip .sx{background:none;border-style:dashed}"
           "@media (prefers-color-scheme:dark){.strip{--heat:#56b4e9}}";
}

}  // namespace distgpu
