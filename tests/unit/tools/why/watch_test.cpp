// How long a step is watched for.
#include "why/watch.h"

#include <gtest/gtest.h>

#include <string>

namespace distgpu {
namespace {

using std::chrono::seconds;

TEST(WatchTime, IsSecondsOrMinutesOfADay) {
    EXPECT_EQ(parse_watch_time("6s")->limit, seconds(6));
    EXPECT_EQ(parse_watch_time("30m")->limit, seconds(1800));
    EXPECT_FALSE(parse_watch_time("30m")->ends);
    EXPECT_EQ(parse_watch_time("1440m:end")->limit, seconds(86'400));
    EXPECT_TRUE(parse_watch_time("1440m:end")->ends);
}

TEST(WatchTime, IsNothingElse) {
    for (const std::string text :
         {"", "m", "0s", "30", "1441m", "86401s", "4294967296s", "30m:stop", ":end", "-1m"}) {
        EXPECT_FALSE(parse_watch_time(text)) << text;
    }
}

}  // namespace
}  // namespace distgpu
