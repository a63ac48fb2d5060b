// Made-up clusters with faults, what a run would measure of them, and what is right to say.
#pragma once

#include "analysis/blame.h"
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

inline double chance(Random& random) {
    return std::uniform_real_distribution<double>(0, 1)(random);
}

// Rates are 1 where all is well. A match runs at the rate of the slower node, or of its path where
// that is slower still; each measurement is off by a normally distributed error of its own.
struct SimulatedCluster {
    std::uint32_t nodes = 0;
    std::uint32_t rails = 8;
    double noise = 0.03;
    double disturbed = 0;      // share of measurements that run at 0.3
    double bursting = 0;       // share of measurements between nodes that run at up to 3
    double factor = 1;         // two thirds of the measurements are within this factor, up or down
    std::uint32_t leaves = 1;  // consecutive nodes, as many on each
    bool switches_known = true;
    bool single_leaf = false;                  // only the last node is on the second one
    std::vector<double> node{};                // rate of each node's network; absent: 1
    std::map<std::uint32_t, double> inside{};  // of nodes that are slow on their own too
    std::map<std::pair<std::uint32_t, std::uint32_t>, double> ports{};  // of node and rail
    std::map<std::uint32_t, double> rail{};                             // of a rail on all nodes
    // Of a match's path or of the moment, from 0 to 1 through the run; `crossing`: so many matches
    // of its round go from leaf to leaf.
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

    double measured(double rate, Random& random) const {
        std::normal_distribution<double> error(1, noise);
        if (chance(random) < disturbed) rate *= 0.3;
        rate *= std::max(0.01, error(random));
        if (factor == 1) return rate;
        return rate * std::lognormal_distribution<double>(0, std::log(factor))(random);
    }

    double sent(double rate, Random& random) const {
        return measured(chance(random) < bursting ? rate * (1 + 2 * chance(random)) : rate, random);
    }

    void play(Evidence& evidence, const Round& round, double moment, Random& random) const {
        const auto number = evidence.matches.empty() ? 0 : evidence.matches.back().round + 1;
        const auto crossing = static_cast<std::uint32_t>(
            std::ranges::count_if(round, [this](Pair pair) { return crosses(pair); }));
        for (const auto pair : round) {
            double rate = std::min(rate_of(pair.first), rate_of(pair.second));
            if (path) rate = std::min(1.0, rate * path(pair, moment, crossing, random));
            evidence.matches.push_back({pair, sent(rate, random), number});
        }
    }

    // As a run does once somebody is named: what passes has passed or is there at the run's end.
    void retest(Evidence& evidence, Random& random) const {
        const auto port = [this](std::uint32_t one, std::uint32_t of_rail) {
            const auto found = ports.find({one, of_rail});
            const double rate = one < node.size() ? node[one] : 1;
            return std::min(rate, found == ports.end() ? 1 : found->second);
        };
        for (const Round& round : retest_rounds(nodes_to_retest(blame(evidence), nodes), nodes)) {
            play(evidence, round, 1, random);
            for (const auto pair : round) {
                for (std::uint32_t one = 0; one < rails; ++one) {
                    double rate = std::min(port(pair.first, one), port(pair.second, one));
                    if (rail.count(one) != 0) rate = std::min(rate, rail.at(one));
                    evidence.pair_rails.push_back({pair, one, sent(rate, random)});
                }
            }
        }
    }

    Evidence measure(Random& random) const {
        Evidence evidence;
        const auto rounds = tournament(nodes);
        for (std::size_t round = 0; round < rounds.size(); ++round) {
            play(evidence, rounds[round],
                 static_cast<double>(round) / static_cast<double>(rounds.size()), random);
        }
        for (std::uint32_t time = 0; time < matches_per_node; ++time) {
            for (std::uint32_t one = 0; one < rails; ++one) {
                evidence.rails[one].push_back(sent(rate_of_rail(one), random));
            }
        }
        for (std::uint32_t time = 0; time < 3 * nodes; ++time) {
            const auto one = time % nodes;
            const auto found = inside.find(one);
            evidence.alone[one].push_back(
                measured(found == inside.end() ? 1 : found->second, random));
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

struct SimulatedRow {
    std::string about;
    std::vector<std::uint32_t> sizes;
    std::function<SimulatedCluster(std::uint32_t nodes, Random&)> cluster;
    // What is right to name, by kind and node. Empty: nobody.
    std::function<std::vector<Limiter>(std::uint32_t nodes)> right;
    bool undecidable = false;  // another cause gives the same matrix: to be undecided is right
    bool paths = false;        // to say that paths collide is right too
    bool must_be_found = true;
    bool never_named = false;  // not once in 10,000 clusters
};

std::vector<SimulatedRow> simulated_rows();

}  // namespace distgpu::scaling
