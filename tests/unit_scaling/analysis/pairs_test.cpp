// The round-robin tournament of node pairs.
#include "analysis/pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace distgpu::scaling {
namespace {

std::map<Pair, std::uint32_t> times_of_pairs(const std::vector<Round>& rounds) {
    std::map<Pair, std::uint32_t> times;
    for (const auto& round : rounds) {
        for (const auto pair : round) ++times[pair];
    }
    return times;
}

std::vector<std::uint32_t> matches_of_nodes(const std::vector<Round>& rounds, std::uint32_t nodes) {
    std::vector<std::uint32_t> matches(nodes);
    for (const auto& round : rounds) {
        for (const auto pair : round) {
            ++matches[pair.first];
            ++matches[pair.second];
        }
    }
    return matches;
}

TEST(Tournament, FourNodesMeetInThreeRoundsTwoOnceAndFewerNotAtAll) {
    // The three ways to split four nodes into two pairs; each is one round.
    const std::set<std::set<Pair>> splits = {{{0, 1}, {2, 3}}, {{0, 2}, {1, 3}}, {{0, 3}, {1, 2}}};
    std::set<std::set<Pair>> rounds;
    for (const auto& round : tournament(4, 3)) rounds.emplace(round.begin(), round.end());
    EXPECT_EQ(rounds, splits);
    EXPECT_EQ(tournament(2), std::vector<Round>(1, Round(1, Pair{0, 1})));
    EXPECT_TRUE(tournament(1).empty());
    EXPECT_TRUE(tournament(0).empty());
}

TEST(Tournament, AWholeOneHasEachPairOnce) {
    for (std::uint32_t nodes = 2; nodes <= 65; ++nodes) {
        const auto rounds = tournament(nodes, nodes - 1);
        // Even: k - 1 rounds; odd: k, with a bye in each.
        EXPECT_EQ(rounds.size(), nodes % 2 == 0 ? nodes - 1 : nodes) << nodes;
        const auto times = times_of_pairs(rounds);
        EXPECT_EQ(times.size(), std::size_t{nodes} * (nodes - 1) / 2) << nodes;
        for (const auto& [pair, count] : times) {
            EXPECT_EQ(count, 1) << nodes;
            EXPECT_LT(pair.first, pair.second) << nodes;
            EXPECT_LT(pair.second, nodes) << nodes;
        }
    }
}

TEST(Tournament, PairsOfARoundAreDisjoint) {
    for (const std::uint32_t nodes : {2U, 3U, 4U, 7U, 8U, 33U, 100U, 4095U, 4096U}) {
        for (const auto& round : tournament(nodes)) {
            std::set<std::uint32_t> seen;
            for (const auto pair : round) {
                seen.insert(pair.first);
                seen.insert(pair.second);
            }
            ASSERT_EQ(round.size(), nodes / 2) << nodes;
            ASSERT_EQ(seen.size(), 2 * round.size()) << nodes;
        }
    }
}

TEST(Tournament, SmallClustersRepeatWholeOnes) {
    // 3 nodes: 2 matches each in a tournament, so 12 tournaments for 24 matches. 5 nodes: 4 each, 6
    // times. 8 nodes: 7 each, 4 times.
    struct Row {
        std::uint32_t nodes;
        std::uint32_t times;
    };
    for (const auto row : {Row{3, 12}, Row{4, 8}, Row{5, 6}, Row{8, 4}, Row{24, 2}, Row{25, 1}}) {
        const auto times = times_of_pairs(tournament(row.nodes, 24));
        EXPECT_EQ(times.size(), std::size_t{row.nodes} * (row.nodes - 1) / 2) << row.nodes;
        for (const auto& [pair, count] : times) EXPECT_EQ(count, row.times) << row.nodes;
    }
    // One after the other, so that a temporary disturbance hits different pairs.
    const auto rounds = tournament(4, 6);
    EXPECT_NE(rounds.at(0), rounds.at(1));
    EXPECT_EQ(rounds.at(0), rounds.at(3));
}

TEST(Tournament, LargeClustersPlayPartOfOne) {
    for (const std::uint32_t nodes : {26U, 27U, 101U, 512U, 4095U, 4096U}) {
        const auto rounds = tournament(nodes, 24);
        // One more if the number is odd, because a node may have a bye.
        EXPECT_EQ(rounds.size(), 24 + nodes % 2) << nodes;
        for (const auto& [pair, count] : times_of_pairs(rounds)) ASSERT_EQ(count, 1) << nodes;
        const auto matches = matches_of_nodes(rounds, nodes);
        EXPECT_GE(*std::ranges::min_element(matches), 24) << nodes;
    }
}

TEST(Tournament, PartnersInALargeClusterAreSpreadOverIt) {
    // Each quarter of the cluster holds about a quarter of a node's 24 partners.
    constexpr std::uint32_t nodes = 4096;
    for (const std::uint32_t node : {0U, 1000U, 4095U}) {
        std::vector<std::uint32_t> of_quarter(4);
        for (const auto& round : tournament(nodes, 24)) {
            for (const auto pair : round) {
                if (pair.first == node) ++of_quarter[pair.second / (nodes / 4)];
                if (pair.second == node) ++of_quarter[pair.first / (nodes / 4)];
            }
        }
        for (const auto partners : of_quarter) {
            EXPECT_GE(partners, 4) << node;
            EXPECT_LE(partners, 8) << node;
        }
    }
}

TEST(RetestRounds, NamedNodesMeetOthersButNotEachOther) {
    for (const std::uint32_t nodes : {3U, 4U, 7U, 8U, 33U}) {
        const std::vector<std::uint32_t> named =
            nodes < 6 ? std::vector<std::uint32_t>{1} : std::vector<std::uint32_t>{2, 0};
        const auto rounds = retest_rounds(named, nodes);
        EXPECT_EQ(rounds.size(), 8U);
        for (const Round& round : rounds) {
            std::set<std::uint32_t> playing;
            for (const Pair& pair : round) {
                EXPECT_LT(pair.first, pair.second);
                EXPECT_LT(pair.second, nodes);
                EXPECT_TRUE(playing.insert(pair.first).second) << nodes;
                EXPECT_TRUE(playing.insert(pair.second).second) << nodes;
                EXPECT_FALSE(std::ranges::count(named, pair.first) +
                                 std::ranges::count(named, pair.second) >
                             1);
            }
            for (const auto node : named) EXPECT_EQ(playing.count(node), 1U);
            EXPECT_GE(playing.size() + 1, nodes);  // one may have a bye
        }
    }
}

// Otherwise one bad path or one slow partner would decide the result.
TEST(RetestRounds, PartnersAreSpreadOverTheCluster) {
    std::set<std::uint32_t> partners;
    for (const Round& round : retest_rounds({0}, 33)) {
        for (const Pair& pair : round) {
            if (pair.first == 0) partners.insert(pair.second);
        }
    }
    EXPECT_EQ(partners.size(), 8U);
    EXPECT_GE(*partners.rbegin() - *partners.begin(), 24U);
    EXPECT_TRUE(retest_rounds({}, 8).empty());
}

}  // namespace
}  // namespace distgpu::scaling
