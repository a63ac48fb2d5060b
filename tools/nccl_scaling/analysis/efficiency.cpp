#include "analysis/efficiency.h"

#include "analysis/collectives.h"
#include "base/format.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace distgpu::scaling {
namespace {

Error bad_times(std::string problem, std::string remedy) {
    return {"times", std::move(problem), std::move(remedy)};
}

// Precondition: sorted by nodes. Nothing: they can be compared.
std::optional<Error> fault_of(const std::vector<NodesTime>& times) {
    if (times.size() < 2) {
        return bad_times(formatted("{} given", times.size()),
                         "give times for at least two numbers of nodes, such as 1=100 2=50");
    }
    if (times.front().nodes == 0) {
        return bad_times("0 nodes", "the number of nodes must be at least 1");
    }
    for (const auto& [nodes, seconds] : times) {
        if (std::isfinite(seconds) && seconds > 0) continue;
        return bad_times(formatted("{} s for {}", seconds, counted(nodes, "node")),
                         "give seconds above 0");
    }
    const auto twice = std::ranges::adjacent_find(times, {}, &NodesTime::nodes);
    if (twice == times.end()) return std::nullopt;
    return bad_times(counted(twice->nodes, "node") + " given twice",
                     "give one time for each number of nodes");
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

std::optional<double> communication_efficiency(const Results& results,
                                               const Measurement& measurement) {
    const auto baseline = communication_baseline(results);
    if (!baseline || results.groups[measurement.group].kind != Group::Kind::nodes) {
        return std::nullopt;
    }
    const auto base = std::ranges::find_if(results.measurements, [&](const Measurement& one) {
        return one.group == *baseline && one.subject == measurement.subject;
    });
    const auto own = bus_bandwidth(results, measurement);
    if (base == results.measurements.end() || !own) return std::nullopt;
    const auto of_base = bus_bandwidth(results, *base);
    return of_base ? std::optional(*own / *of_base) : std::nullopt;
}

std::vector<EfficiencyCurve> efficiency_curves(const Results& results) {
    std::vector<EfficiencyCurve> curves;
    const auto baseline = communication_baseline(results);
    for (const Measurement& one : results.measurements) {
        const auto efficiency = communication_efficiency(results, one);
        if (!efficiency) continue;
        const Subject& subject = one.subject;
        auto curve = std::ranges::find_if(curves, [&](const EfficiencyCurve& known) {
            return known.subject.collective == subject.collective &&
                   known.subject.type == subject.type;
        });
        if (curve == curves.end()) {
            const std::uint32_t nodes = results.groups[*baseline].number;
            curve = curves.insert(curve, EfficiencyCurve{subject, nodes, {}});
        } else if (std::pair(subject.bytes, !subject.in_place) >
                   std::pair(curve->subject.bytes, !curve->subject.in_place)) {
            curve->subject = subject;
            curve->points.clear();
        }
        if (curve->subject == subject) {
            curve->points.push_back({results.groups[one.group].number, *efficiency});
        }
    }
    return curves;
}

Result<std::vector<ScalingPoint>> scaling_efficiency(std::vector<NodesTime> times) {
    std::ranges::sort(times, {}, &NodesTime::nodes);
    if (auto fault = fault_of(times)) return *std::move(fault);
    const auto base = times.front();
    std::vector<ScalingPoint> points;
    points.reserve(times.size());
    for (const auto& [nodes, seconds] : times) {
        const double weak = base.seconds / seconds;
        points.push_back({nodes, seconds, weak, weak * base.nodes / nodes});
    }
    return points;
}

}  // namespace distgpu::scaling
