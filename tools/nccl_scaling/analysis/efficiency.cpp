#include "analysis/efficiency.h"

#include "analysis/collectives.h"
#include "base/format.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace distgpu::scaling {
namespace {

Error times_error(std::string problem, std::string remedy) {
    return {"times", std::move(problem), std::move(remedy)};
}

// nullopt if the times can be compared. Precondition: sorted by nodes.
std::optional<Error> check_times(const std::vector<TrainingTime>& times) {
    if (times.size() < 2) {
        return times_error(formatted("{} given", times.size()),
                           "give times for at least two numbers of nodes, such as 1=100 2=50");
    }
    if (times.front().nodes == 0) {
        return times_error("0 nodes", "the number of nodes must be at least 1");
    }
    for (const auto& [nodes, seconds] : times) {
        if (std::isfinite(seconds) && seconds > 0) continue;
        return times_error(formatted("{} s for {}", seconds, counted(nodes, "node")),
                           "give seconds above 0");
    }
    const auto twice = std::ranges::adjacent_find(times, {}, &TrainingTime::nodes);
    if (twice == times.end()) return std::nullopt;
    return times_error(counted(twice->nodes, "node") + " given twice",
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
        return one.group == *baseline && one.operation == measurement.operation;
    });
    const auto own = bus_bandwidth(results, measurement);
    if (base == results.measurements.end() || !own) return std::nullopt;
    const auto reference = bus_bandwidth(results, *base);
    return reference ? std::optional(*own / *reference) : std::nullopt;
}

std::vector<EfficiencyCurve> efficiency_curves(const Results& results) {
    std::vector<EfficiencyCurve> curves;
    const auto baseline = communication_baseline(results);
    for (const Measurement& one : results.measurements) {
        const auto efficiency = communication_efficiency(results, one);
        if (!efficiency) continue;
        const Operation& operation = one.operation;
        auto curve = std::ranges::find_if(curves, [&](const EfficiencyCurve& known) {
            return known.operation.collective == operation.collective &&
                   known.operation.type == operation.type;
        });
        if (curve == curves.end()) {
            const std::uint32_t nodes = results.groups[*baseline].number;
            curve = curves.insert(curve, EfficiencyCurve{operation, nodes, {}});
        } else if (std::pair(operation.bytes, !operation.in_place) >
                   std::pair(curve->operation.bytes, !curve->operation.in_place)) {
            curve->operation = operation;
            curve->points.clear();
        }
        if (curve->operation == operation) {
            curve->points.push_back({results.groups[one.group].number, *efficiency});
        }
    }
    return curves;
}

Result<std::vector<ScalingPoint>> scaling_efficiency(std::vector<TrainingTime> times) {
    std::ranges::sort(times, {}, &TrainingTime::nodes);
    if (auto error = check_times(times)) return *std::move(error);
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
