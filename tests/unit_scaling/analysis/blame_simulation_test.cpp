// How often the right one is blamed: on thousands of made-up clusters with noise.
#include "base/format.h"
#include "simulated_cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <random>
#include <string>

namespace distgpu::scaling {
namespace {

// Right is only the planted limiter and no other beside it.
struct Tally {
    std::uint32_t planted = 0;
    std::uint32_t blamed = 0;
    std::uint32_t right = 0;

    void add(const SimulatedCluster& cluster, const Blame& result) {
        if (cluster.fault) ++planted;
        if (!result.limiters.empty()) ++blamed;
        if (cluster.fault && result.limiters == std::vector{*cluster.fault}) ++right;
    }
    double precision() const { return 1.0 * right / blamed; }
    double recall() const { return 1.0 * right / planted; }
    std::string text() const {
        return formatted("planted {}, blamed {}, right {}: precision {:.4f}, recall {:.4f}",
                         planted, blamed, right, precision(), recall());
    }
};

// By turns a slow node, a slow port of one node, a slow rail, and nothing.
std::optional<Limiter> fault_of(std::uint32_t turn, std::uint32_t node, std::uint32_t rail) {
    switch (turn % 4) {
        case 0:
            return Limiter{.kind = Limiter::Kind::node, .node = node};
        case 1:
            return Limiter{.kind = Limiter::Kind::node_rail, .node = node, .local_rank = rail};
        case 2:
            return Limiter{.kind = Limiter::Kind::rail, .local_rank = rail};
        default:
            return std::nullopt;
    }
}

std::uint32_t between(std::uint32_t low, std::uint32_t high, std::mt19937_64& random) {
    return std::uniform_int_distribution<std::uint32_t>(low, high)(random);
}

// Most clusters are small: 4 to 32 nodes, as likely to have up to 8 as 8 to 16 or 16 to 32. One of
// fifty has up to 512, one of two thousand 4096.
std::uint32_t cluster_size(std::uint32_t index, std::mt19937_64& random) {
    if (index % 2000 == 1999) return 4096;
    if (index % 50 == 49) return between(33, 512, random);
    return static_cast<std::uint32_t>(
        std::exp2(std::uniform_real_distribution<double>(2, std::log2(33))(random)));
}

TEST(BlameSimulation, TenThousandClusters) {
    std::mt19937_64 random(20240601);
    Tally tally;
    for (std::uint32_t index = 0; index < 10'000; ++index) {
        SimulatedCluster cluster{.nodes = cluster_size(index, random),
                                 .rails = 1U << between(1, 3, random),
                                 .fault = {}};
        cluster.fault = fault_of(between(0, 3, random), between(0, cluster.nodes - 1, random),
                                 between(0, cluster.rails - 1, random));
        tally.add(cluster, blame(cluster.measure(random)));
    }
    std::cout << "10000 clusters of 4 to 4096 nodes, 15 % slower, 3 % noise: " << tally.text()
              << '\n';
    EXPECT_GE(tally.precision(), 0.99);
    EXPECT_GE(tally.recall(), 0.99);
}

Tally clusters_of(std::uint32_t nodes, std::uint32_t matches, std::uint32_t clusters) {
    std::mt19937_64 random(nodes);
    Tally tally;
    for (std::uint32_t index = 0; index < clusters; ++index) {
        const SimulatedCluster cluster{.nodes = nodes,
                                       .rails = 4,
                                       .fault = fault_of(index, index / 4 % nodes, index / 4 % 4),
                                       .matches = matches};
        tally.add(cluster, blame(cluster.measure(random)));
    }
    return tally;
}

// The smallest clusters are the hardest, and would drown among the many of the test above.
TEST(BlameSimulation, EachSmallSize) {
    for (std::uint32_t nodes = 3; nodes <= 9; ++nodes) {
        const auto tally = clusters_of(nodes, matches_per_node, 2000);
        std::cout << nodes << " nodes: " << tally.text() << '\n';
        EXPECT_GE(tally.precision(), 0.99) << nodes;
        EXPECT_GE(tally.recall(), 0.99) << nodes;
    }
}

// Where measurements are as bad as on machines that do other work too.
TEST(BlameSimulation, NoiseOfAFifthIsHardlyEverBlamed) {
    std::mt19937_64 random(4);
    constexpr std::uint32_t clusters = 2000;
    for (const std::uint32_t nodes : {4U, 8U}) {
        std::uint32_t blamed = 0;
        for (std::uint32_t index = 0; index < clusters; ++index) {
            const SimulatedCluster cluster{.nodes = nodes, .rails = 4, .fault = {}, .noise = 0.2};
            if (!blame(cluster.measure(random)).limiters.empty()) ++blamed;
        }
        std::cout << nodes << " healthy nodes, 20 % noise: blamed " << blamed << " of " << clusters
                  << '\n';
        EXPECT_LE(blamed, clusters / 50);
    }
}

// Why matches_per_node is not smaller.
TEST(BlameSimulation, AThirdOfTheMatchesMissTooManyOfFourNodes) {
    const auto tally = clusters_of(4, matches_per_node / 3, 2000);
    std::cout << "4 nodes, a third of the matches: " << tally.text() << '\n';
    EXPECT_LT(tally.recall(), 0.99);
}

}  // namespace
}  // namespace distgpu::scaling
