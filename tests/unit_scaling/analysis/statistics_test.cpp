// Compares quantiles and medians with values computed by hand.
#include "analysis/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace distgpu::scaling {
namespace {

TEST(Quantile, InterpolatesBetweenTheTwoNearest) {
    // Position p * (5 - 1): 0.25 falls on the second value, 0.9 is 0.6 of the way from the
    // fourth to the fifth: 40 + 0.6 * 60.
    const std::vector<double> sorted = {10, 20, 30, 40, 100};
    EXPECT_DOUBLE_EQ(quantile_of_sorted(sorted, 0), 10);
    EXPECT_DOUBLE_EQ(quantile_of_sorted(sorted, 0.25), 20);
    EXPECT_DOUBLE_EQ(quantile_of_sorted(sorted, 0.9), 76);
    EXPECT_DOUBLE_EQ(quantile_of_sorted(sorted, 1), 100);
    EXPECT_DOUBLE_EQ(quantile_of_sorted(std::vector<double>{7}, 0.99), 7);
}

TEST(StatisticsOf, IterationsMayHaveAnyOrder) {
    // 0 to 100 in steps of 1 backwards: percentile p is p.
    std::vector<double> seconds;
    for (int i = 100; i >= 0; --i) seconds.push_back(i);
    const auto statistics = statistics_of(seconds);
    EXPECT_DOUBLE_EQ(statistics.median, 50);
    EXPECT_DOUBLE_EQ(statistics.min, 0);
    EXPECT_DOUBLE_EQ(statistics.p5, 5);
    EXPECT_DOUBLE_EQ(statistics.p95, 95);
    EXPECT_DOUBLE_EQ(statistics.p99, 99);
    EXPECT_EQ(statistics.iterations, 101);
}

TEST(StatisticsOf, CvIsTheSamplesDeviationOverItsMean) {
    // Mean 5, squares 9 + 1 + 1 + 9 = 20, over n - 1: 20 / 3.
    EXPECT_DOUBLE_EQ(statistics_of({2, 4, 6, 8}).cv, std::sqrt(20.0 / 3) / 5);
    EXPECT_EQ(statistics_of({3}).cv, 0);
    EXPECT_EQ(statistics_of({}), Statistics{});
}

TEST(Median, OfAnEvenAndOfAnOddNumber) {
    EXPECT_DOUBLE_EQ(median({4, 1, 3, 2}), 2.5);
    EXPECT_DOUBLE_EQ(median({9, 1, 5}), 5);
}

// All ranks finish the iterations at 2, 4 and 9, so that these last 2, 2 and 5. The mean is 9 / 3.
TEST(LoopStatistics, AnIterationEndsWithItsSlowestRank) {
    const Statistics statistics = *loop_statistics({{2, 3, 9}, {1, 4, 9}});
    EXPECT_EQ(statistics.median, 2);
    EXPECT_EQ(statistics.min, 2);
    EXPECT_EQ(statistics.iterations, 3U);
    EXPECT_EQ(statistics.mean, 3);
}

// A rank that need not wait, such as the root of a broadcast, finishes earlier.
TEST(LoopStatistics, TheMeanIsOverAllRanks) {
    EXPECT_EQ(loop_statistics({{1, 2}, {2, 4}})->mean, (2 / 2.0 + 4 / 2.0) / 2);
    EXPECT_EQ(*loop_statistics({}), Statistics{});
    EXPECT_EQ(*loop_statistics({{}, {}}), Statistics{});
}

// The times come from other processes.
TEST(LoopStatistics, DifferentNumbersOfIterationsAreRefused) {
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
