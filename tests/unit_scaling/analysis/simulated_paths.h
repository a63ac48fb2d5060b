// What can be wrong on the way between two nodes of a made-up cluster, or for a while.
#pragma once

#include "simulated_cluster.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <set>
#include <utility>
#include <vector>

namespace distgpu::scaling {

using Path = std::function<double(const SimulatedCluster&, Pair, double, std::uint32_t, Random&)>;

inline auto with_path(Path path, std::uint32_t leaves = 1, bool known = true, double noise = 0.03) {
    return [=](std::uint32_t nodes, Random&) {
        SimulatedCluster cluster{
            .nodes = nodes, .noise = noise, .leaves = leaves, .switches_known = known};
        const SimulatedCluster plain = cluster;
        cluster.path = [=](Pair pair, double moment, std::uint32_t crossing, Random& random) {
            return path(plain, pair, moment, crossing, random);
        };
        return cluster;
    };
}

inline bool has(Pair pair, std::uint32_t node) {
    return pair.first == node || pair.second == node;
}

inline Path across(double rate) {
    return [=](const SimulatedCluster& cluster, Pair pair, double, std::uint32_t, Random&) {
        return cluster.crosses(pair) ? rate : 1;
    };
}
inline Path uplink(double rate) {
    return [=](const SimulatedCluster& cluster, Pair pair, double, std::uint32_t, Random&) {
        return (cluster.leaf_of(pair.first) == 0) != (cluster.leaf_of(pair.second) == 0) ? rate : 1;
    };
}
inline Path whole_leaf(double rate) {
    return [=](const SimulatedCluster& cluster, Pair pair, double, std::uint32_t, Random&) {
        return cluster.leaf_of(pair.first) == 0 || cluster.leaf_of(pair.second) == 0 ? rate : 1;
    };
}
// What crosses shares links for half of the nodes' pairs.
inline Path shared_uplinks() {
    return [](const SimulatedCluster& cluster, Pair pair, double, std::uint32_t crossing, Random&) {
        return cluster.crosses(pair) ? cluster.nodes / 4.0 / crossing : 1;
    };
}
inline Path ecmp(double node_1) {
    return [=](const SimulatedCluster&, Pair pair, double, std::uint32_t, Random& random) {
        return (chance(random) < 0.25 ? 0.5 : 1) * (has(pair, 1) ? node_1 : 1);
    };
}
inline Path flapping(double share) {
    return [=](const SimulatedCluster&, Pair pair, double, std::uint32_t, Random& random) {
        return has(pair, 1) && chance(random) < share ? 0.4 : 1;
    };
}
inline Path thermal(std::function<double(double)> of_moment) {
    return [=](const SimulatedCluster&, Pair pair, double moment, std::uint32_t, Random&) {
        return has(pair, 1) ? of_moment(moment) : 1;
    };
}
inline Path drift() {
    return [](const SimulatedCluster&, Pair, double moment, std::uint32_t, Random&) {
        return 1 - 0.2 * moment;
    };
}

// A quarter of the pairs, in each of their matches.
inline SimulatedCluster same_pairs_collide(std::uint32_t nodes, Random& random) {
    std::vector<Pair> pairs;
    for (std::uint32_t second = 1; second < nodes; ++second) {
        for (std::uint32_t first = 0; first < second; ++first) pairs.push_back({first, second});
    }
    std::shuffle(pairs.begin(), pairs.end(), random);
    const std::set<Pair> collide(
        pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>((pairs.size() + 2) / 4));
    SimulatedCluster cluster{.nodes = nodes};
    cluster.path = [=](Pair pair, double, std::uint32_t, Random&) {
        return collide.count(pair) != 0 ? 0.5 : 1;
    };
    return cluster;
}

}  // namespace distgpu::scaling
