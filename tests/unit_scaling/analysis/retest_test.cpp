#include "analysis/retest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace distgpu::scaling {
namespace {

using Kind = Limiter::Kind;
using Nodes = std::vector<std::uint32_t>;

Finding slow(Limiter limiter, double relative) {
    return {limiter, relative, 10};
}

TEST(NodesToRetest, AreThoseThatAreNamedTheSlowestFirst) {
    Blame blame;
    blame.findings = {slow({.kind = Kind::node_rail, .node = 3}, 0.8),
                      slow({.kind = Kind::node_rail, .node = 3, .local_rank = 1}, 0.7),
                      slow({.node = 5, .intermittent = true}, 0.4),
                      slow({.kind = Kind::rail}, 0.5),
                      slow({.kind = Kind::uplink, .node = 1}, 0.5),
                      slow({.kind = Kind::paths}, 0.5)};
    EXPECT_EQ(nodes_to_retest(blame, 8), (Nodes{5, 3}));
    EXPECT_EQ(nodes_to_retest(blame, 3), Nodes{5});
    EXPECT_TRUE(nodes_to_retest(Blame{}, 8).empty());
}

TEST(RetestRounds, ThoseNamedMeetOthersAndEachOtherNever) {
    for (const std::uint32_t nodes : {3U, 4U, 7U, 8U, 33U}) {
        const Nodes named = nodes < 6 ? Nodes{1} : Nodes{2, 0};
        const auto rounds = retest_rounds(named, nodes);
        EXPECT_EQ(rounds.size(), 8U);
        for (const Round& round : rounds) {
            std::set<std::uint32_t> playing;
            for (const Pair& pair : round) {
                EXPECT_LT(pair.first, pair.second);
                EXPECT_LT(pair.second, nodes);
                EXPECT_TRUE(playing.insert(pair.first).second) << nodes;
                EXPECT_TRUE(playing.insert(pair.second).second) << nodes;
                EXPECT_FALSE(std::count(named.begin(), named.end(), pair.first) +
                                 std::count(named.begin(), named.end(), pair.second) >
                             1);
            }
            for (const auto node : named) EXPECT_EQ(playing.count(node), 1U);
            EXPECT_GE(playing.size() + 1, nodes);  // all play, but one where they are odd
        }
    }
}

// Or else one bad path or one slow partner would decide.
TEST(RetestRounds, PartnersAreSpreadOverTheCluster) {
    std::set<std::uint32_t> partners;
    for (const Round& round : retest_rounds({0}, 33)) {
        for (const Pair& pair : round) {
            if (pair.first == 0) partners.insert(pair.second);
        }
    }
    EXPECT_EQ(partners.size(), 8U);
    EXPECT_GE(*partners.rbegin() - *partners.begin(), 24U);
}

TEST(RetestRounds, OfNobodyThereAreNone) {
    EXPECT_TRUE(retest_rounds({}, 8).empty());
}

}  // namespace
}  // namespace distgpu::scaling
