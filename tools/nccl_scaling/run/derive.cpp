// See derive.h.
#include "run/derive.h"

#include "analysis/alpha_beta.h"
#include "analysis/blame.h"
#include "analysis/bus_bandwidth.h"
#include "analysis/ddp_step.h"
#include "analysis/efficiency.h"
#include "analysis/evidence.h"
#include "analysis/profiles.h"
#include "analysis/subject.h"
#include "analysis/verdict.h"
#include "base/format.h"
#include "report/units.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace distgpu::scaling {
namespace {

using Curve = EfficiencyCurve;

std::string subject_text(const Subject& subject) {
    return formatted("{} {}, {}{}", row_of(subject.collective).name, row_of(subject.type).name,
                     format_bytes(subject.bytes), subject.in_place ? ", in place" : "");
}

// The rest are latency, and too many for a plot: of each collective and type the largest size, out
// of place where both placements were measured.
std::vector<Subject> shown_subjects(const Results& results,
                                    const std::vector<CommunicationEfficiency>& points) {
    std::vector<Subject> shown;
    for (const CommunicationEfficiency& point : points) {
        const Subject subject = subject_of(results.measurements[point.measurement]);
        const auto known = std::find_if(shown.begin(), shown.end(), [&](const Subject& other) {
            return other.collective == subject.collective && other.type == subject.type;
        });
        if (known == shown.end()) {
            shown.push_back(subject);
        } else if (std::pair(subject.bytes, !subject.in_place) >
                   std::pair(known->bytes, !known->in_place)) {
            *known = subject;
        }
    }
    return shown;
}

// A curve for each of these subjects.
std::vector<Curve> communication_curves(const Results& results) {
    std::vector<Curve> curves;
    const auto baseline = communication_baseline(results);
    if (!baseline) return curves;
    const auto points = communication_efficiency(results);
    const auto subjects = shown_subjects(results, points);
    curves.reserve(subjects.size());
    for (const Subject& subject : subjects) {
        Curve curve{Curve::Kind::communication,
                    subject_text(subject),
                    results.groups[*baseline].number,
                    {}};
        for (const CommunicationEfficiency& point : points) {
            const Measurement& measurement = results.measurements[point.measurement];
            if (subject_of(measurement) != subject) continue;
            curve.points.push_back({results.groups[measurement.group].number, point.efficiency});
        }
        curves.push_back(std::move(curve));
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

// Of each group, collective, type and placement, once.
std::vector<LatencyBandwidthFit> fits_of(const Results& results) {
    std::vector<LatencyBandwidthFit> fits;
    for (std::size_t i = 0; i < results.measurements.size(); ++i) {
        const Measurement& m = results.measurements[i];
        const bool is_first_size = i == 0 || results.measurements[i - 1].group != m.group ||
                                   results.measurements[i - 1].collective != m.collective ||
                                   results.measurements[i - 1].type != m.type ||
                                   results.measurements[i - 1].in_place != m.in_place;
        if (!is_first_size || m.in_place) continue;
        if (auto fit = fit_alpha_beta(results, m.group, m.collective, m.type, m.in_place)) {
            fits.push_back({m.group, m.collective, m.type, fit->alpha, fit->beta, fit->residual});
        }
    }
    return fits;
}

// A limiter that is a node, or a port of one, with that node's score.
std::optional<Finding> node_finding(const Results& results, const Blame& blame,
                                    const Limiter& limiter) {
    const auto score =
        std::find_if(blame.nodes.begin(), blame.nodes.end(), [&](const NodeScore& node) {
            return limiter.kind != Limiter::Kind::rail && node.node == limiter.node;
        });
    if (score == blame.nodes.end()) return std::nullopt;
    return Finding{limiter_name(results, limiter),
                   limiter.kind == Limiter::Kind::node ? "slow node" : "slow port", score->relative,
                   score->z};
}

std::vector<Finding> findings_of(const Results& results, const Blame& blame) {
    std::vector<Finding> findings;
    for (const Limiter& limiter : blame.limiters) {
        if (auto finding = node_finding(results, blame, limiter)) {
            findings.push_back(*std::move(finding));
        }
    }
    for (const RailScore& rail : blame.rails) {
        if (!rail.slow) continue;
        const Limiter limiter{Limiter::Kind::rail, 0, rail.local_rank};
        findings.push_back(
            {limiter_name(results, limiter), "slow rail", rail.relative, std::nullopt});
    }
    for (const PairScore& pair : blame.pairs) {
        if (!pair.collision) continue;
        const auto name = [&](std::uint32_t node) { return results.nodes[node].name; };
        findings.push_back({formatted("{} - {}", name(pair.pair.first), name(pair.pair.second)),
                            "routing collision", pair.relative, std::nullopt});
    }
    std::stable_sort(findings.begin(), findings.end(),
                     [](const Finding& a, const Finding& b) { return a.relative < b.relative; });
    return findings;
}

}  // namespace

ReportInput derive(const Results& results) {
    ReportInput report;
    report.results = results;
    report.efficiency = communication_curves(results);
    const Headline headline = add_models(results, report.efficiency);
    report.fits = fits_of(results);
    const Blame blamed = blame(evidence_of(results));
    report.findings = findings_of(results, blamed);
    if (!results.failure) {
        report.verdict = verdict_line(results, blamed, headline.weak, headline.strong);
    }
    return report;
}

}  // namespace distgpu::scaling
