#include "report/report_input.h"

#include "analysis/blame.h"
#include "analysis/efficiency.h"
#include "analysis/evidence.h"
#include "base/format.h"
#include "report/names.h"
#include "report/units.h"
#include "report/verdict.h"

#include <algorithm>
#include <utility>

namespace distgpu::scaling {
namespace {

using Curve = EfficiencyCurve;

std::vector<Curve> curves_of_communication(const Results& results) {
    std::vector<Curve> curves;
    const auto baseline = communication_baseline(results);
    for (const auto& [subject, points] : communication_curves(results)) {
        Curve& curve = curves.emplace_back(Curve{Curve::Kind::communication,
                                                 operation_name(subject),
                                                 results.groups[*baseline].number,
                                                 {}});
        curve.points.reserve(points.size());
        for (const auto& [measurement, efficiency] : points) {
            const Group& group = results.groups[results.measurements[measurement].group];
            curve.points.push_back({group.number, efficiency});
        }
    }
    return curves;
}

// Returns what is said of the model.
std::string add_step(const Results& results, const TrainingStep& step, std::vector<Curve>& curves) {
    const auto [weak, strong] = step_scaling(results, step);
    const std::string model = formatted("model of the step {}: ", step.text);
    if (weak.empty()) return model + "nothing, as two numbers of nodes did not measure all of it";
    const auto add = [&](Curve::Kind kind, const std::vector<ScalingPoint>& points) {
        Curve& curve = curves.emplace_back(Curve{kind, step.text, points.front().nodes, {}});
        for (const auto& point : points) curve.points.push_back({point.nodes, point.efficiency});
    };
    add(Curve::Kind::weak, weak);
    add(Curve::Kind::strong, strong);
    return model + formatted("{} {} of linear (weak), {} (strong), nothing hidden behind compute",
                             counted(weak.back().nodes, "node"),
                             format_percent(weak.back().efficiency),
                             format_percent(strong.back().efficiency));
}

std::vector<SlowPart> slow_parts_of(const Results& results, const Blame& blame) {
    std::vector<SlowPart> parts;
    for (const auto& [limiter, relative, deviations] : blame.findings) {
        const bool known = deviations > 0;
        parts.push_back({limiter_name(results, limiter), limiter.kind, relative,
                         known ? std::optional(-deviations) : std::nullopt,
                         is_of_a_node(limiter) ? std::optional(limiter.node) : std::nullopt});
    }
    for (const PairScore& pair : blame.pairs) {
        if (!pair.collision) continue;
        const auto name = [&](std::uint32_t node) { return results.nodes[node].name; };
        parts.push_back({formatted("{} - {}", name(pair.pair.first), name(pair.pair.second)),
                         Limiter::Kind::paths, pair.relative, std::nullopt});
    }
    std::stable_sort(parts.begin(), parts.end(),
                     [](const SlowPart& a, const SlowPart& b) { return a.relative < b.relative; });
    return parts;
}

}  // namespace

ReportInput derive(const Results& results, const Expectation& expectation) {
    ReportInput report;
    report.results = results;
    report.efficiency = curves_of_communication(results);
    if (expectation.step) {
        report.step = add_step(results, *expectation.step, report.efficiency);
    }
    report.headline = headline_of(results, expectation.bandwidth);
    report.fits = latency_bandwidth_fits(results);
    const Blame blamed = blame(evidence_of(results));
    report.slow_parts = slow_parts_of(results, blamed);
    for (const Finding& finding : blamed.findings) {
        report.limiters.push_back(limiter_name(results, finding.limiter));
    }
    if (!results.failure) report.verdict = verdict_line(results, blamed, report.headline);
    return report;
}

}  // namespace distgpu::scaling
