// Who tries the network with whom.
#include "check/pairs/rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace distgpu {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(PairRounds, OneNodeTriesNobody) {
    EXPECT_THAT(pair_rounds(0, 1), IsEmpty());
}

TEST(PairRounds, DistancesDouble) {
    EXPECT_THAT(pair_rounds(0, 2), ElementsAre(PairRound{1, 1}));
    EXPECT_THAT(pair_rounds(1, 3), ElementsAre(PairRound{2, 0}, PairRound{0, 2}));
    EXPECT_THAT(pair_rounds(6, 8), ElementsAre(PairRound{7, 5}, PairRound{0, 4}, PairRound{2, 2}));
}

// In each round every node sends to one and hears from one, never itself; and over all rounds no
// pair of nodes is tried twice in one direction.
TEST(PairRounds, EachRoundIsAPermutation) {
    for (const std::uint32_t nodes : {2U, 3U, 5U, 8U, 31U, 32U, 33U, 1024U}) {
        std::set<std::pair<std::uint32_t, std::uint32_t>> tried;
        std::size_t rounds = 0;
        for (std::uint32_t place = 0; place < nodes; ++place) {
            const auto own = pair_rounds(place, nodes);
            rounds = own.size();
            for (std::size_t round = 0; round < own.size(); ++round) {
                EXPECT_NE(own[round].to, place);
                EXPECT_TRUE(tried.emplace(place, own[round].to).second);
                EXPECT_EQ(pair_rounds(own[round].to, nodes)[round].from, place);
            }
        }
        // The least whole number that is no smaller than the logarithm.
        EXPECT_GE(std::uint64_t{1} << rounds, nodes);
        EXPECT_LT(std::uint64_t{1} << (rounds - 1), nodes);
    }
}

// No sum of places and distances overflows.
TEST(PairRounds, OfAsManyNodesAsANumberHolds) {
    const std::uint32_t most = 4'294'967'295;
    const auto rounds = pair_rounds(most - 1, most);
    ASSERT_EQ(rounds.size(), 32U);
    EXPECT_EQ(rounds.back(), (PairRound{(1U << 31U) - 1, (1U << 31U) - 2}));
}

}  // namespace
}  // namespace distgpu
