// See report_input.h.
#include "report/report_input.h"

#include "analysis/blame.h"
#include "analysis/ddp_step.h"
#include "analysis/efficiency.h"
#include "analysis/profiles.h"
#include "base/format.h"
#include "report/names.h"
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
        Curve& curve = curves.emplace_back(
            Curve{Curve::Kind::communication,
                  operation_name(subject.collective, subject.type, subject.in_place, subject.bytes),
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

void add_curve(std::vector<Curve>& curves, Curve::Kind kind, const Profile& profile,
               const std::vector<ScalingPoint>& points) {
    if (points.empty()) return;
    Curve curve{kind, std::string(profile.name), points.front().nodes, {}};
    curve.points.reserve(points.size());
    for (const ScalingPoint& point : points) {
        curve.points.push_back({point.nodes, point.efficiency});
    }
    curves.push_back(std::move(curve));
}

SlowPart::Kind part_kind(Limiter::Kind kind) {
    switch (kind) {
        case Limiter::Kind::node:
            return SlowPart::Kind::node;
        case Limiter::Kind::node_rail:
            return SlowPart::Kind::port;
        case Limiter::Kind::rail:
            return SlowPart::Kind::rail;
        case Limiter::Kind::leaf:
            return SlowPart::Kind::leaf;
        case Limiter::Kind::uplink:
            return SlowPart::Kind::uplink;
        case Limiter::Kind::spine:
            return SlowPart::Kind::spine;
        case Limiter::Kind::paths:
            break;
    }
    return SlowPart::Kind::pair;
}

// The model that the last line speaks of is the first whose collectives were measured.
struct Headline {
    std::optional<double> weak;
    std::optional<double> strong;
};

Headline add_models(const Results& results, std::vector<Curve>& curves) {
    Headline headline;
    for (const Profile& profile : profiles) {
        const StepScaling scaling = step_scaling(results, profile);
        add_curve(curves, Curve::Kind::weak, profile, scaling.weak);
        add_curve(curves, Curve::Kind::strong, profile, scaling.strong);
        if (headline.weak || scaling.weak.empty() || scaling.strong.empty()) continue;
        headline = {scaling.weak.back().efficiency, scaling.strong.back().efficiency};
    }
    return headline;
}

std::vector<SlowPart> slow_parts_of(const Results& results, const Blame& blame) {
    using Kind = SlowPart::Kind;
    std::vector<SlowPart> parts;
    for (const auto& [limiter, relative, deviations] : blame.findings) {
        const bool known = deviations > 0;
        parts.push_back({limiter_name(results, limiter), part_kind(limiter.kind), relative,
                         known ? std::optional(-deviations) : std::nullopt});
    }
    for (const PairScore& pair : blame.pairs) {
        if (!pair.collision) continue;
        const auto name = [&](std::uint32_t node) { return results.nodes[node].name; };
        parts.push_back({formatted("{} - {}", name(pair.pair.first), name(pair.pair.second)),
                         Kind::pair, pair.relative, std::nullopt});
    }
    std::stable_sort(parts.begin(), parts.end(),
                     [](const SlowPart& a, const SlowPart& b) { return a.relative < b.relative; });
    return parts;
}

}  // namespace

ReportInput derive(const Results& results) {
    ReportInput report;
    report.results = results;
    report.efficiency = curves_of_communication(results);
    const Headline headline = add_models(results, report.efficiency);
    report.fits = latency_bandwidth_fits(results);
    report.evidence = evidence_of(results);
    const Blame blamed = blame(report.evidence);
    report.slow_parts = slow_parts_of(results, blamed);
    if (!results.failure) {
        report.verdict = verdict_line(results, blamed, headline.weak, headline.strong);
    }
    return report;
}

}  // namespace distgpu::scaling
