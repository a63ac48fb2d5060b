// Lines over a logarithmic x axis, as SVG.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace distgpu::scaling::html {

struct LinePlot {
    struct Point {
        double x = 0;     // above 0
        double y = 0;     // at least 0
        std::string tip;  // shown where the pointer rests on it
    };
    struct Line {
        std::string label;
        std::vector<Point> points;  // by x, ascending; at least one
    };
    std::string id;  // unique on the page
    std::string title;
    std::string description;  // for those who do not see it
    std::string x_label;
    std::string y_label;
    std::function<std::string(double)> x_text;  // of a mark on the axis
    std::function<std::string(double)> y_text;
    std::vector<Line> lines;       // at least one
    std::optional<double> linear;  // y of the dotted line that says "linear"
};

// `<figure><svg>...</svg></figure>`, with one element of class "point" for each point. Colours and
// dashes tell 21 lines apart: of more only the last are drawn, and the figure says so.
std::string to_svg(const LinePlot& plot);

}  // namespace distgpu::scaling::html
