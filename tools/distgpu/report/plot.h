// Plots over time for a page: lines, and a strip of the means of many GPUs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

struct PlotLine {
    std::string name;
    double begin = 0;     // seconds since the plot's beginning
    double interval = 0;  // seconds
    std::vector<std::optional<double>> values{};
};

struct Plot {
    std::string title;
    double seconds = 0;  // of the axis of time
    double top = 0;      // of the axis of values, which begins at 0; 0: of the largest value
    std::string (*text)(double) = nullptr;  // of a value at the axis
};

// HTML of the lines; of many only the extremes and the median. Empty without any value. The drawing
// has the width of the window, and its texts do not change with it.
std::string line_plot(const Plot& plot, std::vector<PlotLine> lines);

// A cell for each value in percent, the darker the more; a missing one has a dashed border. Of
// many, neighbours share a cell, which shows the idlest of them.
struct StripCell {
    std::string name;
    std::optional<double> percent{};
};
std::string heat_strip(std::string_view title, const std::vector<StripCell>& cells);

// The style sheet of both.
std::string_view plot_style();

}  // namespace distgpu
