// Efficiency over the number of nodes, against linear. See sections.h.
#include "base/format.h"
#include "report/html/line_plot.h"
#include "report/html/markup.h"
#include "report/html/sections.h"
#include "report/units.h"
#include "report/words.h"

#include <algorithm>
#include <iterator>

namespace distgpu::scaling::html {
namespace {

std::string_view title_of(EfficiencyCurve::Kind kind) {
    switch (kind) {
        case EfficiencyCurve::Kind::communication:
            return "Communication efficiency: bus bandwidth over that of the baseline";
        case EfficiencyCurve::Kind::weak:
            return "Weak scaling: E(N) = T(N0) / T(N), the same work for each GPU";
        case EfficiencyCurve::Kind::strong:
            break;
    }
    return "Strong scaling: E(N) = N0 T(N0) / (N T(N)), the same work in all";
}

LinePlot::Line line_of(const EfficiencyCurve& curve) {
    LinePlot::Line line;
    line.label = curve.subject;
    line.points.reserve(curve.points.size());
    for (const auto& [nodes, efficiency] : curve.points) {
        line.points.push_back({static_cast<double>(nodes), efficiency,
                               formatted("{}, {}: {} of linear", curve.subject,
                                         counted(nodes, "node"), format_percent(efficiency))});
    }
    return line;
}

std::string plot_of(const std::vector<EfficiencyCurve>& curves, EfficiencyCurve::Kind kind) {
    LinePlot plot;
    plot.lines.reserve(curves.size());
    for (const EfficiencyCurve& curve : curves) {
        if (curve.kind == kind) plot.lines.push_back(line_of(curve));
    }
    if (plot.lines.empty()) return "";
    plot.id = formatted("efficiency-{}", words::word_of(words::efficiency_kinds, kind));
    plot.title = title_of(kind);
    plot.description = formatted(
        "{}. A line for each of {} over the number of nodes; the dotted line at 100 % is linear "
        "scaling. The numbers are in the table below.",
        plot.title, counted(plot.lines.size(), "curve"));
    plot.x_label = "nodes (N)";
    plot.y_label = "of linear";
    plot.x_text = [](double nodes) { return formatted("{:.0f}", nodes); };
    plot.y_text = [](double share) { return formatted("{:.0f} %", share * 100); };
    plot.linear = 1;
    return to_svg(plot);
}

Table table_of(const std::vector<EfficiencyCurve>& curves) {
    Table table;
    table.caption = "Efficiency; 100 % is linear";
    table.columns = {"scaling", "of", "baseline (nodes)", "nodes", "of linear"};
    table.words = 2;
    for (const EfficiencyCurve& curve : curves) {
        for (const auto& [nodes, efficiency] : curve.points) {
            table.rows.push_back({std::string(words::word_of(words::efficiency_kinds, curve.kind)),
                                  curve.subject, std::to_string(curve.baseline_nodes),
                                  std::to_string(nodes), format_percent(efficiency)});
        }
    }
    return table;
}

}  // namespace

std::string efficiency_plots(const std::vector<EfficiencyCurve>& curves) {
    std::vector<EfficiencyCurve> shown;
    std::copy_if(curves.begin(), curves.end(), std::back_inserter(shown),
                 [](const EfficiencyCurve& curve) { return curve.points.size() > 1; });
    if (shown.empty()) return "";
    std::string text;
    for (const auto& [kind, word] : words::efficiency_kinds) text += plot_of(shown, kind);
    return text + folded("Numbers", to_html(table_of(shown)));
}

}  // namespace distgpu::scaling::html
