#include "analysis/training_step.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

namespace distgpu::scaling {
namespace {

// Seconds by size.
std::map<std::uint64_t, double> times_of(const Results& results, std::size_t group,
                                         Collective collective) {
    std::map<std::uint64_t, double> times;
    std::optional<Subject> form;  // in any size
    for (const bool in_place : {false, true}) {
        for (const auto& one : results.measurements) {
            if (one.group != group || one.collective != collective || one.in_place != in_place ||
                one.time.median <= 0) {
                continue;
            }
            const Subject subject = subject_of(one);
            if (!form) form = subject;
            if (differ_only_in_size(subject, *form)) times[one.bytes] = one.time.median;
        }
    }
    return times;
}

// Nothing: not known of all parts.
std::optional<double> communication(const Results& results, std::size_t group,
                                    const TrainingStep& step) {
    double all = 0;
    for (const auto& [collective, bytes, count] : step.parts) {
        const auto seconds = collective_seconds(results, group, collective, bytes);
        if (!seconds) return std::nullopt;
        all += count * *seconds;
    }
    return all;
}

// Seconds of communication by number of nodes.
std::map<std::uint32_t, double> communications(const Results& results, const TrainingStep& step) {
    std::map<std::uint32_t, double> of_nodes;
    if (!results.nodes.empty() && results.nodes.front().ranks == 1) of_nodes[1] = 0;
    for (std::size_t index = 0; index < results.groups.size(); ++index) {
        const auto& group = results.groups[index];
        if (group.kind != Group::Kind::nodes || group.ranks < 2) continue;
        if (const auto seconds = communication(results, index, step)) {
            of_nodes[group.number] = *seconds;
        }
    }
    return of_nodes;
}

}  // namespace

std::optional<double> collective_seconds(const Results& results, std::size_t group,
                                         Collective collective, std::uint64_t bytes) {
    const auto times = times_of(results, group, collective);
    const auto above = times.lower_bound(bytes);
    if (above == times.end()) return std::nullopt;
    if (above->first == bytes) return above->second;
    if (above == times.begin()) return std::nullopt;
    const auto below = std::prev(above);
    const auto size = static_cast<double>(below->first);
    const double place = std::log(static_cast<double>(bytes) / size) /
                         std::log(static_cast<double>(above->first) / size);
    return below->second * std::pow(above->second / below->second, place);
}

StepScaling step_scaling(const Results& results, const TrainingStep& step) {
    const auto of_nodes = communications(results, step);
    std::vector<NodesTime> weak;
    std::vector<NodesTime> strong;
    for (const auto& [nodes, seconds] : of_nodes) {
        weak.push_back({nodes, step.compute + seconds});
        strong.push_back({nodes, step.compute * of_nodes.begin()->first / nodes + seconds});
    }
    auto weak_points = scaling_efficiency(Scaling::weak, std::move(weak));
    auto strong_points = scaling_efficiency(Scaling::strong, std::move(strong));
    if (!weak_points || !strong_points) return {};
    return {.weak = *std::move(weak_points), .strong = *std::move(strong_points)};
}

}  // namespace distgpu::scaling
