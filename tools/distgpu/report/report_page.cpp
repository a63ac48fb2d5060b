#include "report/report_page.h"

#include "base/format.h"
#include "picture/text_page.h"
#include "report/plot.h"
#include "report/rows.h"
#include "report/summary.h"
#include "report/verdict.h"

#include <algorithm>

namespace distgpu {
namespace {

// More do not fit on a few screens, and the CSV has them all.
constexpr std::size_t max_rows = 16;

// In a narrow window each row of a table is a paragraph.
constexpr std::string_view page_style =
    ".finding{font-size:1.25rem}"
    "@media (max-width:45rem){td{display:inline-block;padding:0 1rem 0 0}}";

std::string short_name(const GpuOnNode& gpu) {
    if (gpu.gpu->ranks.size() != 1) return formatted("{} on {}", gpu.gpu->pci, gpu.node->node);
    return formatted("rank {}: {} on {}", gpu.gpu->ranks.front(), gpu.gpu->pci, gpu.node->node);
}

std::string cores_text(double cores) {
    return formatted("{:.3g}", cores);
}

// A line for each GPU or rank. `series`: returns its values.
template <class Items, class Name, class Series>
std::vector<PlotLine> lines_of(const StepReport& report, const Items& items, Name name,
                               Series series) {
    std::vector<PlotLine> lines;
    for (const auto& each : items) {
        const auto& values = series(each);
        lines.push_back({name(each),
                         each.node->began - began(report),
                         each.node->interval,
                         {values.begin(), values.end()}});
    }
    return lines;
}

std::string gpu_plots(const StepReport& report) {
    const auto gpus = gpus_of(report);
    const double seconds = seconds_of(report);
    const auto lines = [&](auto series) { return lines_of(report, gpus, short_name, series); };
    std::string html;
    if (gpus.size() > max_rows) {
        std::vector<StripCell> cells(gpus.size());
        std::ranges::transform(gpus, cells.begin(), [](const GpuOnNode& each) {
            return StripCell{short_name(each), mean_busy(std::span(&each, 1))};
        });
        html += heat_strip("How busy each GPU was, the paler the less", cells);
    }
    html += line_plot({"GPUs busy", seconds, 100, busy_text},
                      lines([](const GpuOnNode& each) { return each.gpu->busy_series; }));
    return html + line_plot({"Memory of the GPUs", seconds, 0, bytes_text},
                            lines([](const GpuOnNode& each) { return each.gpu->memory_series; }));
}

std::string rank_plots(const StepReport& report) {
    const auto ranks = ranks_of(report);
    const double seconds = seconds_of(report);
    const auto name = [](const RankOnNode& each) {
        return formatted("rank {} on {}", each.rank->rank, each.node->node);
    };
    const auto lines = [&](auto series) { return lines_of(report, ranks, name, series); };
    return line_plot({"CPUs in use by each rank's own process", seconds, 0, cores_text},
                     lines([](const RankOnNode& each) { return each.rank->cpu_series; })) +
           line_plot(
               {"CPUs in use by its data loaders and other processes", seconds, 0, cores_text},
               lines([](const RankOnNode& each) { return each.rank->worker_cpu_series; })) +
           line_plot({"Memory of each rank with these processes", seconds, 0, bytes_text},
                     lines([](const RankOnNode& each) { return each.rank->memory_series; }));
}

std::string table_or_nothing(const std::vector<Row>& rows) {
    return rows.size() > 1 ? html_table(rows) : "";
}

}  // namespace

std::string report_page(const StepReport& report) {
    const auto findings = report_findings(report);
    std::string body =
        paragraph(report_verdict(report),
                  findings.empty() ? " class=\"finding good\"" : " class=\"finding\"");
    for (std::size_t i = 1; i < findings.size(); ++i) body += paragraph(findings[i]);
    body += paragraph(heading(report), " class=\"faint\"");
    body += section("GPUs", gpu_plots(report) + table_or_nothing(gpu_rows(report, max_rows)));
    body += section("Ranks", rank_plots(report) + table_or_nothing(rank_rows(report, max_rows)));
    std::string notes;
    for (const std::string& note : notes_of(report)) notes += paragraph(note);
    body += section("What was not measured", notes);
    if (!report.reports.empty()) body += paragraph(cost_text(report), " class=\"faint\"");
    return text_page("step " + report.step, std::string(plot_style()) + std::string(page_style),
                     body);
}

}  // namespace distgpu
