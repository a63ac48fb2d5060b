// Ratios to a baseline, never to a number that was not measured.
#include "analysis/efficiency.h"

#include "analysis/bus_bandwidth.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace distgpu::scaling {

namespace {

// Nothing: the group did not measure it.
std::optional<double> bandwidth_of(const Results& results, std::size_t group,
                                   const Subject& subject) {
    const auto found =
        std::find_if(results.measurements.begin(), results.measurements.end(),
                     [&](const Measurement& measurement) {
                         return measurement.group == group && subject_of(measurement) == subject;
                     });
    if (found == results.measurements.end()) return std::nullopt;
    return bus_bandwidth(results, *found);
}

// Precondition: sorted by nodes. Nothing: they can be compared.
std::optional<UnusableTimes> fault_of(const std::vector<NodesTime>& times) {
    using Reason = UnusableTimes::Reason;
    if (times.size() < 2) return UnusableTimes{Reason::too_few, times.size(), {}};
    if (times.front().nodes == 0) {
        return UnusableTimes{Reason::no_nodes, times.size(), times.front()};
    }
    for (const auto& time : times) {
        if (!std::isfinite(time.seconds) || time.seconds <= 0) {
            return UnusableTimes{Reason::not_positive, times.size(), time};
        }
    }
    const auto twice = std::adjacent_find(
        times.begin(), times.end(),
        [](const NodesTime& a, const NodesTime& b) { return a.nodes == b.nodes; });
    if (twice == times.end()) return std::nullopt;
    return UnusableTimes{Reason::twice, times.size(), *twice};
}

// Of each collective, type and operation the one that a curve is drawn of.
std::vector<Subject> shown_subjects(const Results& results,
                                    const std::vector<CommunicationEfficiency>& points) {
    std::vector<Subject> shown;
    for (const auto& point : points) {
        const Subject subject = subject_of(results.measurements[point.measurement]);
        const auto known = std::find_if(shown.begin(), shown.end(), [&](const Subject& other) {
            return other.collective == subject.collective && other.type == subject.type &&
                   other.op == subject.op;
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

}  // namespace

std::optional<std::size_t> communication_baseline(const Results& results) {
    std::optional<std::size_t> baseline;
    for (std::size_t index = 0; index < results.groups.size(); ++index) {
        const auto& group = results.groups[index];
        if (group.kind != Group::Kind::nodes || group.ranks < 2) continue;
        if (!baseline || group.number < results.groups[*baseline].number) baseline = index;
    }
    return baseline;
}

std::vector<CommunicationEfficiency> communication_efficiency(const Results& results) {
    std::vector<CommunicationEfficiency> efficiencies;
    const auto baseline = communication_baseline(results);
    if (!baseline) return efficiencies;
    efficiencies.reserve(results.measurements.size());
    for (std::size_t index = 0; index < results.measurements.size(); ++index) {
        const auto& measurement = results.measurements[index];
        if (results.groups[measurement.group].kind != Group::Kind::nodes) continue;
        const auto own = bus_bandwidth(results, measurement);
        const auto base = bandwidth_of(results, *baseline, subject_of(measurement));
        if (own && base) efficiencies.push_back({.measurement = index, .efficiency = *own / *base});
    }
    return efficiencies;
}

std::vector<CommunicationCurve> communication_curves(const Results& results) {
    const auto points = communication_efficiency(results);
    const auto subjects = shown_subjects(results, points);
    std::vector<CommunicationCurve> curves;
    curves.reserve(subjects.size());
    for (const Subject& subject : subjects) {
        CommunicationCurve& curve = curves.emplace_back(CommunicationCurve{subject, {}});
        std::copy_if(points.begin(), points.end(), std::back_inserter(curve.points),
                     [&](const CommunicationEfficiency& point) {
                         return subject_of(results.measurements[point.measurement]) == subject;
                     });
    }
    return curves;
}

tl::expected<std::vector<ScalingPoint>, UnusableTimes> scaling_efficiency(
    Scaling scaling, std::vector<NodesTime> times) {
    std::sort(times.begin(), times.end(),
              [](const NodesTime& a, const NodesTime& b) { return a.nodes < b.nodes; });
    if (const auto fault = fault_of(times)) return tl::make_unexpected(*fault);
    const auto base = times.front();
    std::vector<ScalingPoint> points;
    points.reserve(times.size());
    for (const auto& time : times) {
        const double shrunk = scaling == Scaling::weak ? 1.0 : 1.0 * base.nodes / time.nodes;
        points.push_back({.nodes = time.nodes,
                          .seconds = time.seconds,
                          .efficiency = shrunk * base.seconds / time.seconds});
    }
    return points;
}

}  // namespace distgpu::scaling
