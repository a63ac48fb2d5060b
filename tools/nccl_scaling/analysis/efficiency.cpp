// Ratios to a baseline, never to a number that was not measured.
#include "analysis/efficiency.h"

#include "analysis/bus_bandwidth.h"
#include "analysis/subject.h"
#include "base/format.h"

#include <algorithm>
#include <cmath>
#include <string>
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

Error bad_times(std::string problem, std::string remedy) {
    return {.object = "times", .problem = std::move(problem), .remedy = std::move(remedy)};
}

// Precondition: sorted by nodes. Nothing: they can be compared.
std::optional<Error> refuse(const std::vector<NodesTime>& times) {
    if (times.size() < 2) {
        return bad_times(formatted("{} given", times.size()),
                         "give those of two numbers of nodes at least, as 1=100 2=50");
    }
    if (times.front().nodes == 0) return bad_times("0 nodes", "numbers of nodes begin at 1");
    for (const auto& time : times) {
        if (!std::isfinite(time.seconds) || time.seconds <= 0) {
            return bad_times(formatted("{} s for {}", time.seconds, counted(time.nodes, "node")),
                             "give seconds above 0");
        }
    }
    const auto twice = std::adjacent_find(
        times.begin(), times.end(),
        [](const NodesTime& a, const NodesTime& b) { return a.nodes == b.nodes; });
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

Result<std::vector<ScalingPoint>> scaling_efficiency(Scaling scaling,
                                                     std::vector<NodesTime> times) {
    std::sort(times.begin(), times.end(),
              [](const NodesTime& a, const NodesTime& b) { return a.nodes < b.nodes; });
    if (auto error = refuse(times)) return *std::move(error);
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
