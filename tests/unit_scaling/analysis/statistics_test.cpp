// Percentiles and medians against values worked out by hand.
#include "analysis/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace distgpu::scaling {
namespace {

TEST(Percentile, InterpolatesBetweenTheTwoNearest) {
    // Position share * (5 - 1): 0.25 falls on the second value, 0.9 is 0.6 of the way from the
    // fourth to the fifth: 40 + 0.6 * 60.
    const std::vector<double> sorted = {10, 20, 30, 40, 100};
    EXPECT_DOUBLE_EQ(percentile(sorted, 0), 10);
    EXPECT_DOUBLE_EQ(percentile(sorted, 0.25), 20);
    EXPECT_DOUBLE_EQ(percentile(sorted, 0.9), 76);
    EXPECT_DOUBLE_EQ(percentile(sorted, 1), 100);
    EXPECT_DOUBLE_EQ(percentile(std::vector<double>{7}, 0.99), 7);
}

TEST(StatisticsOf, TakesTheIterationsInAnyOrder) {
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
}

TEST(StatisticsOf, NoIterationIsAllZero) {
    EXPECT_EQ(statistics_of({}), Statistics{});
}

TEST(Median, OfAnEvenNumber) {
    EXPECT_DOUBLE_EQ(median({4, 1, 3, 2}), 2.5);
    EXPECT_DOUBLE_EQ(upper_median({4, 1, 3, 2}), 3);
    EXPECT_DOUBLE_EQ(upper_median({2, 1}), 2);
}

TEST(Median, OfAnOddNumber) {
    EXPECT_DOUBLE_EQ(median({9, 1, 5}), 5);
    EXPECT_DOUBLE_EQ(upper_median({9, 1, 5}), 5);
    EXPECT_DOUBLE_EQ(upper_median({9}), 9);
}

}  // namespace
}  // namespace distgpu::scaling
