// The streams of compute and of collectives in a training step.
#include "analysis/ddp_step.h"

#include "analysis/collective_times.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace distgpu::scaling {

namespace {

double ddp_seconds(double forward, double backward, double bytes, const CommunicationTime& time) {
    double sent = 0;
    double finish = 0;
    while (sent < bytes) {
        const double bucket = std::min(ddp_bucket_bytes, bytes - sent);
        sent += bucket;
        const double ready = forward + backward * sent / bytes;
        finish = std::max(ready, finish) + time(Collective::all_reduce, bucket);
    }
    return finish;
}

double fsdp_seconds(double forward, double backward, const Profile& profile,
                    const CommunicationTime& time) {
    const double layer = profile.bytes / profile.layers;
    const double gather = time(Collective::all_gather, layer);
    const double reduce = time(Collective::reduce_scatter, layer);
    double collectives = 0;  // when this stream is done with what it has
    double compute = 0;
    for (std::uint32_t index = 0; index < profile.layers; ++index) {
        collectives += gather;
        compute = std::max(compute, collectives) + forward / profile.layers;
    }
    // Gathering for the backward pass begins with its layers, when the forward pass is over.
    collectives = std::max(collectives, compute) + gather;
    double gathered = collectives;
    for (std::uint32_t index = 0; index < profile.layers; ++index) {
        compute = std::max(compute, gathered) + backward / profile.layers;
        if (index + 1 < profile.layers) collectives += gather;
        gathered = collectives;
        collectives = std::max(collectives, compute) + reduce;
    }
    return std::max(compute, collectives);
}

std::vector<Collective> collectives_of(const Profile& profile) {
    if (profile.parallelism == Profile::Parallelism::ddp) return {Collective::all_reduce};
    return {Collective::all_gather, Collective::reduce_scatter};
}

// Nothing: one of the profile's collectives was not measured on this group.
std::optional<CommunicationTime> measured_times(const Results& results, std::size_t group,
                                                const Profile& profile) {
    std::map<Collective, CollectiveTimes> times;
    for (const auto collective : collectives_of(profile)) {
        auto measured = CollectiveTimes::of(results, group, collective);
        if (!measured) return std::nullopt;
        times.emplace(collective, *std::move(measured));
    }
    return [times = std::move(times)](Collective collective, double bytes) {
        return times.at(collective).at(bytes);
    };
}

// Of one number of nodes: seconds for a share of the batch.
struct StepOf {
    std::uint32_t nodes = 0;
    std::function<double(double work)> seconds;
};

std::vector<StepOf> steps_of(const Results& results, const Profile& profile) {
    std::map<std::uint32_t, StepOf> of_nodes;
    if (!results.nodes.empty() && results.nodes.front().ranks == 1) {
        of_nodes[1] = {.nodes = 1,
                       .seconds = [&profile](double work) { return step_seconds(profile, work); }};
    }
    for (std::size_t index = 0; index < results.groups.size(); ++index) {
        const auto& group = results.groups[index];
        if (group.kind != Group::Kind::nodes || group.ranks < 2) continue;
        auto times = measured_times(results, index, profile);
        if (!times) continue;
        of_nodes[group.number] = {.nodes = group.number,
                                  .seconds = [&profile, times = *std::move(times)](double work) {
                                      return step_seconds(profile, work, times);
                                  }};
    }
    std::vector<StepOf> steps;
    steps.reserve(of_nodes.size());
    for (auto& [nodes, step] : of_nodes) steps.push_back(std::move(step));
    return steps;
}

}  // namespace

double step_seconds(const Profile& profile, double work) {
    return work * (profile.forward + profile.backward);
}

double step_seconds(const Profile& profile, double work, const CommunicationTime& time) {
    const double forward = work * profile.forward;
    const double backward = work * profile.backward;
    if (profile.parallelism == Profile::Parallelism::ddp) {
        return ddp_seconds(forward, backward, profile.bytes, time);
    }
    return fsdp_seconds(forward, backward, profile, time);
}

StepScaling step_scaling(const Results& results, const Profile& profile) {
    const auto steps = steps_of(results, profile);
    std::vector<NodesTime> weak;
    std::vector<NodesTime> strong;
    weak.reserve(steps.size());
    strong.reserve(steps.size());
    for (const auto& step : steps) {
        weak.push_back({.nodes = step.nodes, .seconds = step.seconds(1)});
        const double work = 1.0 * steps.front().nodes / step.nodes;
        strong.push_back({.nodes = step.nodes, .seconds = step.seconds(work)});
    }
    auto weak_points = scaling_efficiency(Scaling::weak, std::move(weak));
    auto strong_points = scaling_efficiency(Scaling::strong, std::move(strong));
    if (!weak_points || !strong_points) return {};
    return {.weak = *std::move(weak_points), .strong = *std::move(strong_points)};
}

}  // namespace distgpu::scaling
