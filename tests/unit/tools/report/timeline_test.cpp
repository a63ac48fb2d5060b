#include "report/timeline.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

TEST(Timeline, DoublesItsIntervalsWhenTheyAreFull) {
    Timeline timeline(5);
    int folds = 0;
    const auto fold = [&] { ++folds; };
    EXPECT_EQ(timeline.index_of(0, fold), 0U);
    EXPECT_EQ(timeline.index_of(5, fold), 1U);
    EXPECT_EQ(timeline.index_of(1199.9, fold), 239U);
    EXPECT_EQ(folds, 0);
    EXPECT_EQ(timeline.index_of(1200, fold), 120U);
    EXPECT_EQ(timeline.interval(), 10);
    EXPECT_EQ(folds, 1);
    // A day at once, as after a suspension.
    EXPECT_EQ(timeline.index_of(86'400, fold), 135U);
    EXPECT_EQ(timeline.interval(), 640);
}

TEST(Intervals, FoldToSumsAndMaxima) {
    Intervals series;
    add_to(series, 0, 1);
    add_to(series, 1, 3);
    add_to(series, 1, 2);
    add_to(series, 4, 7);
    fold(series);
    ASSERT_EQ(series.size(), 3U);
    EXPECT_EQ(series[0].sum, 6);
    EXPECT_EQ(series[0].most, 3);
    EXPECT_EQ(series[0].count, 3U);
    EXPECT_EQ(series[1].count, 0U);
    EXPECT_EQ(series[2].sum, 7);
    Intervals negative;
    add_to(negative, 0, -2);
    EXPECT_EQ(negative[0].most, -2);
}

}  // namespace
}  // namespace distgpu
