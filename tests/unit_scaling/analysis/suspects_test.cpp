// Which measurements become evidence.
#include "analysis/suspects.h"

#include "synthetic_results.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace distgpu::scaling {
namespace {

std::size_t add_pair(Results& results, std::uint32_t first, std::uint32_t second) {
    return add_group(
        results, {.kind = Group::Kind::pair, .nodes = {first, second}, .ranks = 2, .number = 0});
}

TEST(EvidenceOf, EachMatchWithItsBusBandwidth) {
    auto results = synthetic_results(3, 1);
    const auto pair = add_pair(results, 2, 0);
    // With two ranks the factor of all-reduce is 1. The same pair twice makes two matches.
    add_measurement(results, pair, {.bytes = 100, .seconds = 2});
    add_measurement(results, pair, {.bytes = 100, .seconds = 4});
    add_measurement(results, add_pair(results, 0, 1), {.bytes = 100, .seconds = 1});
    EXPECT_EQ(evidence_of(results).matches,
              (std::vector<Evidence::Match>{{{0, 2}, 50, 0}, {{0, 2}, 25, 1}, {{0, 1}, 100, 2}}));
}

TEST(EvidenceOf, OnlyTheLargestSizeOfOneOperationCounts) {
    auto results = synthetic_results(3, 1);
    const auto pair = add_pair(results, 0, 1);
    add_measurement(results, pair, {.bytes = 8, .seconds = 1});
    add_measurement(results, pair, {.bytes = 100, .seconds = 1});
    add_measurement(results, pair, {.bytes = 100, .seconds = 5});
    add_measurement(results, pair, {.in_place = true, .bytes = 100, .seconds = 1});
    add_measurement(results, pair,
                    {.collective = Collective::broadcast, .bytes = 100, .seconds = 1});
    add_measurement(results, add_nodes(results, 3), {.bytes = 1000, .seconds = 1});
    EXPECT_EQ(evidence_of(results).matches,
              (std::vector<Evidence::Match>{{{0, 1}, 100, 0}, {{0, 1}, 20, 1}}));
}

TEST(EvidenceOf, RailsOfPairs) {
    auto results = synthetic_results(3, 2);
    const auto group = add_group(
        results, {.kind = Group::Kind::pair_rail, .nodes = {2, 1}, .ranks = 2, .number = 1});
    add_measurement(results, group, {.bytes = 100, .seconds = 2});
    const auto evidence = evidence_of(results);
    EXPECT_EQ(evidence.pair_rails, (std::vector<Evidence::PairRail>{{{1, 2}, 1, 50}}));
    EXPECT_TRUE(evidence.matches.empty());
    EXPECT_TRUE(evidence.rails.empty());
}

TEST(EvidenceOf, RailsByLocalRank) {
    auto results = synthetic_results(4, 2);
    const auto rail =
        add_group(results, {.kind = Group::Kind::rail, .nodes = {}, .ranks = 4, .number = 1});
    // With four ranks the factor is 1.5.
    add_measurement(results, rail, {.bytes = 100, .seconds = 1});
    EXPECT_EQ(evidence_of(results).rails,
              (std::map<std::uint32_t, std::vector<double>>{{1, {150}}}));
}

TEST(EvidenceOf, ARoundEndsBeforeANodePlaysAgain) {
    auto results = synthetic_results(4, 1);
    for (const auto& [first, second] : {Pair{0, 1}, {2, 3}, {0, 2}, {1, 3}, {1, 2}}) {
        add_measurement(results, add_pair(results, first, second), {.bytes = 100, .seconds = 1});
    }
    std::vector<std::uint32_t> rounds;
    for (const auto& match : evidence_of(results).matches) rounds.push_back(match.round);
    EXPECT_EQ(rounds, (std::vector<std::uint32_t>{0, 0, 1, 1, 2}));
}

// The factor of all-reduce is 1 with two ranks, and 2 * 5 / 6 with six.
TEST(EvidenceOf, NodesAloneAndAllTogether) {
    auto results = synthetic_results(3, 2);
    const auto alone = [&](std::uint32_t node) {
        return add_group(results, {.kind = Group::Kind::node, .nodes = {node}, .ranks = 2});
    };
    add_measurement(results, alone(0), {.bytes = 100, .seconds = 2});
    const auto second = alone(1);
    // The median of all nodes with as many GPUs, not the first node.
    add_measurement(results, add_nodes(results, 1), {.bytes = 100, .seconds = 3});
    add_measurement(results, second, {.bytes = 100, .seconds = 1});
    add_measurement(results, second, {.bytes = 8, .seconds = 1});
    add_measurement(results, add_nodes(results, 3), {.bytes = 100, .seconds = 1});
    EXPECT_FALSE(evidence_of(results).all_nodes_bandwidth) << "no pair to compare with";
    add_measurement(results, add_pair(results, 0, 1), {.bytes = 100, .seconds = 1});
    const auto evidence = evidence_of(results);
    EXPECT_EQ(evidence.nodes_alone,
              (std::map<std::uint32_t, std::vector<double>>{{0, {50}}, {1, {100}}}));
    EXPECT_DOUBLE_EQ(evidence.all_nodes_bandwidth.value_or(0), 100 * 10.0 / 6);
}

TEST(EvidenceOf, SwitchOfEachNode) {
    auto results = synthetic_results(3, 1);
    results.nodes[0].switches = "s1.s4";
    results.nodes[1].switches = "s5";
    EXPECT_EQ(evidence_of(results).leaves, (std::vector<std::string>{"s4", "s5", ""}));
}

// The fifth percentile of five iterations is 10 % below the median: their standard deviation is
// 0.1 / 1.645, that of the median 1.2533 / sqrt(5) times as much.
TEST(EvidenceOf, StandardErrorOfTheIterations) {
    auto results = synthetic_results(3, 1);
    const auto pair = add_pair(results, 0, 1);
    add_measurement(results, pair, {.bytes = 100, .seconds = 2});
    add_measurement(results, pair, {.bytes = 100, .seconds = 2});
    results.measurements[1].time.p5 = 1.8;
    results.measurements[1].time.iterations = 5;
    const auto matches = evidence_of(results).matches;
    EXPECT_EQ(matches[0].relative_error, 0);
    EXPECT_NEAR(matches[1].relative_error, 0.0341, 1e-4);
}

TEST(EvidenceOf, AbsurdTimesAreIgnored) {
    auto results = synthetic_results(3, 1);
    for (const double seconds : {0.0, 1e-300, 1e300, 1.0}) {
        add_measurement(results, add_pair(results, 0, 1), {.bytes = 100, .seconds = seconds});
    }
    EXPECT_EQ(evidence_of(results).matches.size(), 1);
}

TEST(EvidenceOf, OneNodeHasNone) {
    auto results = synthetic_results(1, 8);
    add_measurement(results, add_nodes(results, 1), {.bytes = 50, .seconds = 2});
    const auto evidence = evidence_of(results);
    EXPECT_TRUE(evidence.matches.empty());
    EXPECT_TRUE(evidence.rails.empty());
}

}  // namespace
}  // namespace distgpu::scaling
