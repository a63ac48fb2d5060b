// See nodes_alone.h.
#include "analysis/nodes_alone.h"

#include "analysis/bus_bandwidth.h"
#include "analysis/statistics.h"

#include <algorithm>
#include <map>

namespace distgpu::scaling {
namespace {

constexpr double usual = 0.9;
constexpr double least_z = -3.5;
constexpr std::size_t fewest_peers = 3;

struct Alone {
    std::uint32_t node = 0;
    double bandwidth = 0;
};

// By the nodes' number of ranks.
std::map<std::uint32_t, std::vector<Alone>> peers_alone(const Results& results) {
    std::map<std::uint32_t, std::vector<Alone>> alone;
    for (const Measurement& measurement : results.measurements) {
        const Group& group = results.groups[measurement.group];
        const auto bandwidth = bus_bandwidth(results, measurement);
        if (group.kind != Group::Kind::node || !bandwidth) continue;
        alone[group.ranks].push_back({group.nodes.front(), *bandwidth});
    }
    return alone;
}

void add_slow(std::vector<SlowNode>& slow, const std::vector<Alone>& nodes) {
    if (nodes.size() < fewest_peers) return;
    std::vector<double> bandwidths(nodes.size());
    std::transform(nodes.begin(), nodes.end(), bandwidths.begin(),
                   [](const Alone& alone) { return alone.bandwidth; });
    const Peers peers = peers_of(bandwidths);
    for (const auto& [node, bandwidth] : nodes) {
        const double relative = bandwidth / peers.median;
        const auto z = peers.robust_z(bandwidth);
        if (relative < usual && z.value_or(least_z - 1) < least_z) {
            slow.push_back({node, relative, z});
        }
    }
}

}  // namespace

std::vector<SlowNode> slow_alone(const Results& results) {
    std::vector<SlowNode> slow;
    for (const auto& [ranks, nodes] : peers_alone(results)) add_slow(slow, nodes);
    std::sort(slow.begin(), slow.end(),
              [](const SlowNode& a, const SlowNode& b) { return a.relative < b.relative; });
    return slow;
}

}  // namespace distgpu::scaling
