// Who is blamed, on clusters whose rates are known.
#include "analysis/blame.h"

#include "made_up_results.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

namespace distgpu::scaling {
namespace {

// A match runs at the rate of the slower node. Rates differ by a millionth from match to match,
// so that there is a spread.
std::vector<Evidence::Match> matches_of(const std::vector<double>& rates) {
    std::vector<Evidence::Match> matches;
    double jitter = 1;
    for (const auto& round : tournament(static_cast<std::uint32_t>(rates.size()))) {
        for (const auto pair : round) {
            jitter = jitter > 1 ? 1 - 1e-6 : 1 + 1e-6;
            matches.push_back({pair, jitter * std::min(rates[pair.first], rates[pair.second])});
        }
    }
    return matches;
}

std::vector<Limiter> limiters_of(const std::vector<double>& rates,
                                 const std::vector<double>& rails = {}) {
    Evidence evidence{.matches = matches_of(rates), .rails = {}};
    for (std::uint32_t rail = 0; rail < rails.size(); ++rail) {
        evidence.rails.push_back({rail, rails[rail]});
    }
    return blame(evidence).limiters;
}

Limiter node(std::uint32_t index) {
    return {.kind = Limiter::Kind::node, .node = index};
}
Limiter node_rail(std::uint32_t index, std::uint32_t rail) {
    return {.kind = Limiter::Kind::node_rail, .node = index, .local_rank = rail};
}
Limiter rail_of_all(std::uint32_t rail) {
    return {.kind = Limiter::Kind::rail, .local_rank = rail};
}

using Limiters = std::vector<Limiter>;

TEST(Blame, NobodyWhereAllAreEqual) {
    for (const std::size_t nodes : {3U, 4U, 8U, 100U}) {
        EXPECT_EQ(limiters_of(std::vector<double>(nodes, 1)), Limiters{}) << nodes;
    }
}

TEST(Blame, TheSlowNode) {
    for (const std::size_t nodes : {3U, 4U, 5U, 8U, 100U}) {
        for (std::uint32_t slow = 0; slow < 3; ++slow) {
            std::vector<double> rates(nodes, 1);
            rates[slow] = 0.85;
            EXPECT_EQ(limiters_of(rates), Limiters{node(slow)}) << nodes << ' ' << slow;
        }
    }
}

TEST(Blame, ScoresOfFourNodes) {
    // A healthy node has two healthy partners of three, so its upper median is 1.
    const auto result = blame({.matches = matches_of({1, 0.5, 1, 1}), .rails = {}});
    ASSERT_EQ(result.nodes.size(), 4);
    EXPECT_TRUE(result.decidable);
    for (const auto& score : result.nodes) {
        EXPECT_NEAR(score.relative, score.node == 1 ? 0.5 : 1, 1e-5) << score.node;
        EXPECT_EQ(score.slow, score.node == 1) << score.node;
    }
    EXPECT_EQ(result.pairs.size(), 6);
}

TEST(Blame, EveryMinorityOfSlowNodes) {
    EXPECT_EQ(limiters_of({0.8, 1, 0.8, 1, 1}), (Limiters{node(0), node(2)}));
    EXPECT_EQ(limiters_of({0.8, 0.7, 1, 1, 1, 1}), (Limiters{node(0), node(1)}));
    EXPECT_EQ(limiters_of({1, 0.8, 1, 0.8, 1, 0.8, 1}), (Limiters{node(1), node(3), node(5)}));
}

TEST(Blame, HalfTheNodesAreTheUsualRate) {
    // Which half is at fault cannot be told from their pairs.
    EXPECT_EQ(limiters_of({1, 1, 0.8, 0.8}), Limiters{});
}

TEST(Blame, TwoNodesAccuseEachOther) {
    const auto result = blame({.matches = matches_of({1, 0.1}), .rails = {}});
    EXPECT_FALSE(result.decidable);
    EXPECT_TRUE(result.limiters.empty());
    EXPECT_EQ(result.pairs.size(), 1);
}

TEST(Blame, OnePartnerIsNotEnough) {
    // The first round of four only: 0 and 1 met, and one of them is slow.
    Evidence evidence;
    evidence.matches = {{{0, 1}, 0.5}, {{2, 3}, 1}, {{4, 5}, 1}, {{6, 7}, 1}};
    const auto result = blame(evidence);
    EXPECT_FALSE(result.decidable);
    EXPECT_TRUE(result.nodes.empty());
    EXPECT_TRUE(result.limiters.empty());
}

TEST(Blame, OneJudgedNodeHasNoPeers) {
    // Node 0 met both others, which did not meet each other yet.
    const auto result = blame({.matches = {{{0, 1}, 1}, {{0, 2}, 1}}, .rails = {}});
    EXPECT_EQ(result.nodes.size(), 1);
    EXPECT_FALSE(result.decidable);
}

TEST(Blame, ATenthIsTheLimit) {
    // Among equal peers the spread is tiny, so that z alone would accuse.
    EXPECT_EQ(limiters_of({1, 1, 0.91, 1}), Limiters{});
    EXPECT_EQ(limiters_of({1, 1, 0.89, 1}), Limiters{node(2)});
}

TEST(Blame, NotWithinTheUsualSpread) {
    // Matches at the product of two rates. Upper medians of the partners: 1 for the three fastest
    // and 1.05 for the others, so the scores are 1.2, 1.1, 1.05, 1.05, 0.9975, 0.945, 0.8925. The
    // last is 0.85 of the median 1.05, but with a MAD of 0.0525 its z is only -2.0.
    const std::vector<double> rates = {1.2, 1.1, 1.05, 1, 0.95, 0.9, 0.85};
    Evidence evidence;
    for (const auto& round : tournament(7, 6)) {
        for (const auto pair : round) {
            evidence.matches.push_back({pair, rates[pair.first] * rates[pair.second]});
        }
    }
    const auto result = blame(evidence);
    const auto& lowest = result.nodes.back();
    EXPECT_NEAR(lowest.relative, 0.85, 1e-9);
    ASSERT_TRUE(lowest.z);
    EXPECT_NEAR(*lowest.z, -0.6745 * 0.1575 / 0.0525, 1e-9);
    EXPECT_FALSE(lowest.slow);
    EXPECT_TRUE(result.limiters.empty());
}

TEST(Blame, WithoutAnySpreadATenthDecides) {
    Evidence evidence;
    for (const auto& round : tournament(4, 3)) {
        for (const auto pair : round) {
            evidence.matches.push_back({pair, pair.second == 3 ? 0.5 : 1});
        }
    }
    const auto result = blame(evidence);
    EXPECT_FALSE(result.nodes[3].z);
    EXPECT_EQ(result.limiters, Limiters{node(3)});
}

// Four nodes; of the last one's eight matches with each partner so many are slow.
Blame with_slow_matches(int slow) {
    auto matches = matches_of({1, 1, 1, 1});
    std::map<Pair, int> played;
    for (auto& match : matches) {
        if (match.pair.second == 3 && played[match.pair]++ < slow) match.bandwidth *= 0.5;
    }
    return blame({.matches = matches, .rails = {}});
}

TEST(Blame, TwoThirdsOfTheMatchesMustBeLow) {
    // The median of eight is low with five already, which are less than two thirds.
    const auto five = with_slow_matches(5);
    EXPECT_NEAR(five.nodes[3].relative, 0.5, 1e-5);
    EXPECT_DOUBLE_EQ(five.nodes[3].low_matches, 5.0 / 8);
    EXPECT_TRUE(five.limiters.empty());
    EXPECT_EQ(with_slow_matches(6).limiters, Limiters{node(3)});
}

TEST(Blame, ALowPairOfTwoWellNodesIsACollision) {
    for (const std::size_t nodes : {3U, 4U, 8U, 64U}) {
        auto matches = matches_of(std::vector<double>(nodes, 1));
        for (auto& match : matches) {
            if (match.pair == Pair{0, 2}) match.bandwidth *= 0.5;
        }
        const auto played = std::any_of(matches.begin(), matches.end(), [](const auto& match) {
            return match.pair == Pair{0, 2};
        });
        const auto result = blame({.matches = matches, .rails = {}});
        EXPECT_TRUE(result.limiters.empty()) << nodes;
        for (const auto& pair : result.pairs) {
            EXPECT_EQ(pair.collision, played && pair.pair == (Pair{0, 2})) << nodes;
        }
    }
}

TEST(Blame, OneDisturbedMatchOfAPairIsNoCollision) {
    auto matches = matches_of({1, 1, 1, 1});
    matches.front().bandwidth = 0.1;
    const auto result = blame({.matches = matches, .rails = {}});
    EXPECT_TRUE(std::none_of(result.pairs.begin(), result.pairs.end(),
                             [](const PairScore& pair) { return pair.collision; }));
}

TEST(Blame, TheSlowNodesPairsAreNoCollisions) {
    // They are not what the other six pairs are held against either: four of ten, they would make
    // 0.7 an ordinary value.
    auto matches = matches_of({0.5, 1, 1, 1, 1});
    for (auto& match : matches) {
        if (match.pair == Pair{1, 2}) match.bandwidth = 0.7;
    }
    const auto result = blame({.matches = matches, .rails = {}});
    EXPECT_EQ(result.limiters, Limiters{node(0)});
    for (const auto& pair : result.pairs) {
        const bool collides = pair.pair == Pair{1, 2};
        EXPECT_EQ(pair.collision, collides) << pair.pair.first << ' ' << pair.pair.second;
        // To the median of the pairs without node 0, which is 1.
        const double rate = pair.pair.first == 0 ? 0.5 : 1;
        EXPECT_NEAR(pair.relative, collides ? 0.7 : rate, 1e-5);
    }
}

TEST(Blame, PairsStandInOrder) {
    const auto result = blame({.matches = matches_of({1, 1, 0.5, 1, 1}), .rails = {}});
    EXPECT_TRUE(
        std::is_sorted(result.pairs.begin(), result.pairs.end(),
                       [](const PairScore& a, const PairScore& b) { return a.pair < b.pair; }));
}

TEST(BlameOfRails, SlowNodeAndSlowRailAreOnePort) {
    EXPECT_EQ(limiters_of({1, 0.85, 1, 1}, {1, 1, 0.85, 1}), Limiters{node_rail(1, 2)});
    EXPECT_EQ(limiters_of({1, 0.85, 1, 1}, {1, 0.85}), Limiters{node_rail(1, 1)});
}

TEST(BlameOfRails, ANodeThatSlowsAllRailsIsSlowAltogether) {
    EXPECT_EQ(limiters_of({1, 0.85, 1, 1}, {0.85, 0.85, 0.85, 0.85}), Limiters{node(1)});
}

TEST(BlameOfRails, ASlowRailWithoutASlowNodeIsSlowEverywhere) {
    EXPECT_EQ(limiters_of({0.85, 0.85, 0.85, 0.85}, {1, 1, 0.85, 1}), Limiters{rail_of_all(2)});
    // Of two nodes: which of them it is cannot be told, which rail can.
    EXPECT_EQ(limiters_of({0.85, 0.85}, {1, 0.85}), Limiters{rail_of_all(1)});
}

TEST(BlameOfRails, TheOnlyRailHasNoPeers) {
    EXPECT_EQ(limiters_of({1, 1, 1}, {0.1}), Limiters{});
}

TEST(BlameOfRails, SeveralNodesWithOneRailOrOneNodeWithSeveral) {
    EXPECT_EQ(limiters_of({0.85, 0.85, 1, 1, 1}, {1, 0.85, 1}),
              (Limiters{node_rail(0, 1), node_rail(1, 1)}));
    EXPECT_EQ(limiters_of({0.85, 1, 1, 1, 1}, {1, 0.85, 1, 0.85, 1}),
              (Limiters{node_rail(0, 1), node_rail(0, 3)}));
}

TEST(BlameOfRails, SeveralOfBothLeaveItOpen) {
    EXPECT_EQ(limiters_of({0.85, 0.85, 1, 1, 1}, {1, 0.85, 1, 0.85, 1}),
              (Limiters{node(0), node(1)}));
}

TEST(BlameOfRails, ATenthIsTheLimit) {
    EXPECT_EQ(limiters_of({1, 1, 1}, {1, 0.91, 1, 1}), Limiters{});
    EXPECT_EQ(limiters_of({1, 1, 1}, {1, 0.89, 1, 1}), Limiters{rail_of_all(1)});
}

TEST(BlameOfRails, RepetitionsCountByTheirMedian) {
    Evidence evidence{.matches = matches_of({1, 1, 1}), .rails = {}};
    evidence.rails = {{0, 1}, {0, 0.1}, {0, 1}, {1, 1}, {1, 1}, {1, 1}};
    EXPECT_TRUE(blame(evidence).limiters.empty());
}

TEST(BlameOfRails, TwoThirdsOfTheMeasurementsMustBeLow) {
    Evidence evidence{.matches = matches_of({1, 1, 1}), .rails = {}};
    evidence.rails = {{0, 0.5}, {0, 0.5}, {0, 0.5}, {0, 1}, {0, 1}, {1, 1}};
    EXPECT_TRUE(blame(evidence).limiters.empty());
    evidence.rails = {{0, 0.5}, {0, 0.5}, {0, 1}, {1, 1}};
    EXPECT_EQ(blame(evidence).limiters, Limiters{rail_of_all(0)});
}

TEST(LowZ, GrowsWithTheNumberOfValues) {
    EXPECT_DOUBLE_EQ(low_z(4), -3.5);
    EXPECT_DOUBLE_EQ(low_z(45), -3.5);
    EXPECT_LT(low_z(46), -3.5);
    EXPECT_DOUBLE_EQ(low_z(4096), -std::sqrt(2 * std::log(40960.0)));
}

}  // namespace
}  // namespace distgpu::scaling
