// Simulated clusters with faults, the measurements that a run would give, and the expected
// limiters.
#pragma once

#include "analysis/limiters.h"
#include "analysis/pairs.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace distgpu::scaling {

using Random = std::mt19937_64;

inline double uniform(Random& random) {
    return std::uniform_real_distribution<double>(0, 1)(random);
}

// Healthy rates are 1. A match runs at the rate of the slower node, or of its path if that is even
// slower. Each measurement has a normally distributed error.
struct SimulatedCluster {
    std::uint32_t nodes = 0;
    std::uint32_t rails = 8;
    double noise = 0.03;
    double disturbed = 0;      // share of measurements that run at 0.3
    double bursting = 0;       // share of measurements between nodes that run at up to 3
    double factor = 1;         // two thirds of the measurements are within this factor, up or down
    std::uint32_t leaves = 1;  // each with equally many consecutive nodes
    bool switches_known = true;
    bool single_leaf = false;                  // only the last node is on the second leaf
    std::vector<double> node{};                // rate of each node's network; 1 if absent
    std::map<std::uint32_t, double> inside{};  // of nodes that are also slow on their own
    std::map<std::pair<std::uint32_t, std::uint32_t>, double> ports{};  // by node and rail
    std::map<std::uint32_t, double> rail{};                             // of a rail on all nodes
    // Rate of a match's path at a moment, which goes from 0 to 1 during the run. `crossing`: number
    // of matches in its round that go from leaf to leaf.
    std::function<double(Pair, double moment, std::uint32_t crossing, Random&)> path{};

    std::uint32_t leaf_of(std::uint32_t one) const {
        return single_leaf ? (one + 1) / nodes : one * leaves / nodes;
    }
    bool crosses(Pair pair) const { return leaf_of(pair.first) != leaf_of(pair.second); }

    double rate_of(std::uint32_t one) const {
        double rate = one < node.size() ? node[one] : 1;
        if (const auto found = inside.find(one); found != inside.end()) rate *= found->second;
        for (const auto& [port, slow] : ports) {
            if (port.first == one) rate = std::min(rate, slow);
        }
        for (const auto& [unused, slow] : rail) rate = std::min(rate, slow);
        return rate;
    }

    double rate_of_rail(std::uint32_t one) const {
        double rate = rail.count(one) != 0 ? rail.at(one) : 1;
        for (const auto& [port, slow] : ports) {
            if (port.second == one) rate = std::min(rate, slow);
        }
        for (const double slow : node) rate = std::min(rate, slow);
        return rate;
    }

    double with_noise(double rate, Random& random) const {
        std::normal_distribution<double> error(1, noise);
        if (uniform(random) < disturbed) rate *= 0.3;
        rate *= std::max(0.01, error(random));
        if (factor == 1) return rate;
        return rate * std::lognormal_distribution<double>(0, std::log(factor))(random);
    }

    double between_nodes(double rate, Random& random) const {
        if (uniform(random) < bursting) rate *= 1 + 2 * uniform(random);
        return with_noise(rate, random);
    }

    void play_round(Evidence& evidence, const Round& round, double moment, Random& random) const {
        const auto number = evidence.matches.empty() ? 0 : evidence.matches.back().round + 1;
        const auto crossing = static_cast<std::uint32_t>(
            std::ranges::count_if(round, [this](Pair pair) { return crosses(pair); }));
        for (const auto pair : round) {
            double rate = std::min(rate_of(pair.first), rate_of(pair.second));
            if (path) rate = std::min(1.0, rate * path(pair, moment, crossing, random));
            evidence.matches.push_back({pair, between_nodes(rate, random), number});
        }
    }

    // As a run does with the named nodes, at the moment 1.
    void retest(Evidence& evidence, Random& random) const {
        const auto port = [this](std::uint32_t one, std::uint32_t of_rail) {
            const auto found = ports.find({one, of_rail});
            const double rate = one < node.size() ? node[one] : 1;
            return std::min(rate, found == ports.end() ? 1 : found->second);
        };
        for (const Round& round :
             retest_rounds(nodes_to_retest(find_limiters(evidence), nodes), nodes)) {
            play_round(evidence, round, 1, random);
            for (const auto pair : round) {
                for (std::uint32_t one = 0; one < rails; ++one) {
                    double rate = std::min(port(pair.first, one), port(pair.second, one));
                    if (rail.count(one) != 0) rate = std::min(rate, rail.at(one));
                    evidence.pair_rails.push_back({pair, one, between_nodes(rate, random)});
                }
            }
        }
    }

    Evidence measure(Random& random) const {
        Evidence evidence;
        const auto rounds = tournament(nodes);
        for (std::size_t round = 0; round < rounds.size(); ++round) {
            play_round(evidence, rounds[round],
                       static_cast<double>(round) / static_cast<double>(rounds.size()), random);
        }
        for (std::uint32_t time = 0; time < matches_per_node; ++time) {
            for (std::uint32_t one = 0; one < rails; ++one) {
                evidence.rails[one].push_back(between_nodes(rate_of_rail(one), random));
            }
        }
        for (std::uint32_t time = 0; time < 3 * nodes; ++time) {
            const auto one = time % nodes;
            const auto found = inside.find(one);
            evidence.nodes_alone[one].push_back(
                with_noise(found == inside.end() ? 1 : found->second, random));
        }
        if (leaves > 1 && switches_known) {
            for (std::uint32_t one = 0; one < nodes; ++one) {
                evidence.leaves.push_back("s" + std::to_string(leaf_of(one)));
            }
        }
        retest(evidence, random);
        return evidence;
    }
};

struct SimulatedCase {
    std::string name;
    std::vector<std::uint32_t> sizes;
    std::function<SimulatedCluster(std::uint32_t nodes, Random&)> cluster;
    // The correct limiters, sorted by kind and node.
    std::function<std::vector<Limiter>(std::uint32_t nodes)> expected;
    bool may_be_undecided = false;  // another cause would give the same measurements
    bool may_name_paths = false;    // colliding paths are also correct
    bool must_find = true;
    bool never_named = false;  // no limiter in 10,000 clusters
};

std::vector<SimulatedCase> simulated_cases();

}  // namespace distgpu::scaling
