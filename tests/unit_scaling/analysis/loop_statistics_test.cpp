#include "analysis/loop_statistics.h"

#include <gtest/gtest.h>

namespace distgpu::scaling {
namespace {

// All are done with the iterations at 2, 4 and 9: they last 2, 2 and 5. The mean of 3 and 9 thirds.
TEST(LoopStatistics, AnIterationEndsWithItsSlowestRank) {
    const Statistics statistics = *loop_statistics({{2, 3, 9}, {1, 4, 9}});
    EXPECT_EQ(statistics.median, 2);
    EXPECT_EQ(statistics.min, 2);
    EXPECT_EQ(statistics.iterations, 3U);
    EXPECT_EQ(statistics.mean, 3);
}

// A rank that has not to wait, such as the root of a broadcast, is done sooner.
TEST(LoopStatistics, TheMeanIsThatOfAllRanks) {
    EXPECT_EQ(loop_statistics({{1, 2}, {2, 4}})->mean, (2 / 2.0 + 4 / 2.0) / 2);
}

TEST(LoopStatistics, OfNoRank) {
    EXPECT_EQ(*loop_statistics({}), Statistics{});
    EXPECT_EQ(*loop_statistics({{}, {}}), Statistics{});
}

// They come from other processes.
TEST(LoopStatistics, OfRanksThatToldDifferentNumbersAreRefused) {
    for (const auto& ends : std::vector<std::vector<std::vector<double>>>{
             {{1, 2}, {2}}, {{1}, {1, 2}}, {{1}, {}}, {{}, {1}}}) {
        const auto statistics = loop_statistics(ends);
        ASSERT_FALSE(statistics);
        EXPECT_EQ(statistics.error().message(),
                  "distgpu: the ranks of one loop: sent different numbers of times");
    }
}

}  // namespace
}  // namespace distgpu::scaling
