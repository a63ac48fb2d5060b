#include "report/verdict.h"

#include "base/format.h"
#include "report/findings.h"
#include "report/summary.h"

#include <algorithm>
#include <span>

namespace distgpu {
namespace {

// Nobody can say what the rest would gain: kernels also start and end.
constexpr double busy_enough = 90;

// Between GPUs that do the same, in percent.
constexpr double alike = 10;

ReportFindings all_findings(const StepReport& report) {
    ReportFindings all = find_faults(report);
    for (const ReportFindings& more : {find_waits(report), find_growth(report)}) {
        all.insert(all.end(), more.begin(), more.end());
    }
    std::ranges::stable_sort(all, {}, &ReportFinding::weight);
    return all;
}

bool are_alike(const std::vector<GpuOnNode>& gpus) {
    double least = 100;
    double most = 0;
    for (const GpuOnNode& each : gpus) {
        least = std::min(least, each.gpu->busy.mean());
        most = std::max(most, each.gpu->busy.mean());
    }
    return gpus.size() > 1 && most - least <= alike;
}

// Whether each node says of its GPUs and ranks all there is.
bool is_all_measured(const StepReport& report) {
    return report.reports.size() >= report.nodes &&
           std::ranges::all_of(report.reports, [](const NodeReport& node) {
               return node.notes.empty() && !node.ranks.empty();
           });
}

// "GPUs 95% busy, all alike"; "GPUs 71% busy (2 of 8 not measured; 3 of 4 nodes)".
std::string busy_head(const StepReport& report) {
    auto gpus = gpus_of(report);
    const std::size_t all = gpus.size();
    std::erase_if(gpus, [](const GpuOnNode& each) { return !is_measured(*each.gpu); });
    if (all == 0) return "no GPU";
    if (gpus.empty()) return "GPUs not measured";
    std::vector<std::string> gaps;
    if (gpus.size() < all)
        gaps.push_back(formatted("{} of {} not measured", all - gpus.size(), all));
    if (report.reports.size() < report.nodes) {
        gaps.push_back(formatted("{} of {} nodes", report.reports.size(), report.nodes));
    }
    std::string text =
        formatted("{} {} busy", all == 1 ? "GPU" : "GPUs", busy_text(*mean_busy(gpus)));
    if (!gaps.empty()) return text + formatted(" ({})", join(gaps, "; "));
    return text + (are_alike(gpus) ? ", all alike" : "");
}

// Percent, after the interval in which it first worked; all of the time if that is not known.
std::optional<double> busy_since_start(const GpuOnNode& each) {
    const auto& series = each.gpu->busy_series;
    const auto first = std::ranges::find_if(series, [](const auto& busy) { return busy > 0U; });
    if (std::ranges::distance(first, series.end()) < 2) return mean_busy(std::span(&each, 1));
    return mean_of(std::span(first + 1, series.end()));
}

// What to say if there is no finding.
std::string all_clear(const StepReport& report) {
    const auto gpus = gpus_of(report);
    const auto busy = mean_busy(gpus);
    const std::string_view clear = is_all_measured(report)
                                       ? "nothing else stands out"
                                       : "nothing else stands out in what was measured";
    if (!busy) return std::string(clear);
    const double since_start = mean_of(gpus, busy_since_start).value_or(*busy);
    if (std::max(*busy, since_start) < busy_enough) {
        return formatted("nothing measured here explains their idle {}", busy_text(100 - *busy));
    }
    if (gpus.size() > 1 && !are_alike(gpus)) return std::string(clear);
    const std::string after_start =
        *busy < busy_enough ? formatted("{} since they first worked: ", busy_text(since_start))
                            : "";
    // NCCL's kernels run while they wait, so the network may be the limit, too.
    return formatted("{}the kernels on them, NCCL's included, are the limit; {}", after_start,
                     clear);
}

}  // namespace

std::vector<std::string> report_findings(const StepReport& report) {
    std::vector<std::string> texts;
    for (const ReportFinding& finding : all_findings(report)) {
        texts.push_back(printable(finding.text));
    }
    return texts;
}

std::string report_verdict(const StepReport& report) {
    if (report.reports.empty()) {
        return formatted("no report from any of {}", counted(report.nodes, "node"));
    }
    const auto findings = report_findings(report);
    const std::string time = has_ended(report)
                                 ? ""
                                 : formatted("last written after {}, before the step's end: ",
                                             time_text(seconds_of(report)));
    return formatted("{}{}; {}", time, busy_head(report),
                     findings.empty() ? all_clear(report) : findings.front());
}

}  // namespace distgpu
