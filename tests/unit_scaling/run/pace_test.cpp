#include "run/pace.h"

#include <gtest/gtest.h>

namespace distgpu::scaling {
namespace {

TEST(Pace, APlainRunPlaysItsRoundsHoweverLongTheyTake) {
    const Pace pace = pace_of(20, false, 0);
    EXPECT_FALSE(pace.by_time());
    EXPECT_TRUE(goes_on(pace, 1e6, 23, 24));
    EXPECT_FALSE(goes_on(pace, 0, 24, 24));
}

// The round under way at the last moment, and the end, have 20 s.
TEST(Pace, AQuickRunEndsWithinThreeMinutes) {
    const Pace pace = pace_of(10, true, 0);
    EXPECT_TRUE(pace.by_time());
    EXPECT_TRUE(goes_on(pace, 119, 3, 24));
    EXPECT_FALSE(goes_on(pace, 120, 3, 24));
    EXPECT_FALSE(goes_on(pace, 1, 24, 24));
    EXPECT_EQ(pace.end_of_retest, 160);
}

TEST(Pace, ASoakPlaysUntilItsTimeAndAllRoundsOnceAtLeast) {
    for (const bool quick : {false, true}) {
        const Pace pace = pace_of(20, quick, 8);
        EXPECT_TRUE(goes_on(pace, 479, 1000, 24));
        EXPECT_FALSE(goes_on(pace, 480, 24, 24));
        EXPECT_TRUE(goes_on(pace, 480, 23, 24));
        EXPECT_EQ(pace.loop.at_least, 2);  // 240 rounds
        EXPECT_GE(pace.loop.at_most, 2);
    }
}

TEST(Pace, WhereThereIsNoRoundNoneIsPlayed) {
    EXPECT_FALSE(goes_on(pace_of(20, false, 5), 0, 0, 0));
}

}  // namespace
}  // namespace distgpu::scaling
