// The key watch.
#include "mapping/request/request.h"
#include "mapping/spec/parse_spec.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

namespace distgpu {
namespace {

std::optional<Watch> watch_in(const std::string& spec) {
    const auto request = parse_spec("SPEC", spec);
    return request ? request->watch : std::nullopt;
}

TEST(WatchKey, TakesMinutesAndWhetherTheStepEnds) {
    EXPECT_EQ(watch_in("pytorch"), std::nullopt);
    EXPECT_EQ(watch_in("pytorch,watch"), (Watch{.on = true}));
    EXPECT_EQ(watch_in("pytorch,watch="), (Watch{.on = true}));
    EXPECT_EQ(watch_in("pytorch,watch=on"), (Watch{.on = true}));
    EXPECT_EQ(watch_in("pytorch,watch=off"), Watch{});
    EXPECT_EQ(watch_in("pytorch,watch=1"), (Watch{.on = true, .minutes = 1}));
    EXPECT_EQ(watch_in("pytorch,watch=1440:end"),
              (Watch{.on = true, .minutes = 1440, .ends = true}));
}

TEST(WatchKey, RefusesAnythingElse) {
    for (const std::string value : {"0", "x", "1441", "30:stop", "30:", ":end", "0:end", "-1", "1m",
                                    "4294967297", "30:end:end", "on:end", " 30"}) {
        const auto watch = parse_watch(value);
        ASSERT_FALSE(watch) << value;
        EXPECT_EQ(watch.error().message(),
                  "distgpu: watch=" + value +
                      ": unknown value; give minutes from 1 to 1440, as in watch=30 or "
                      "watch=30:end, or on or off");
    }
}

TEST(WatchKey, IsToldAsItIsWritten) {
    for (const std::string value : {"on", "off", "1", "30:end", "1440"}) {
        EXPECT_EQ(to_string(*parse_watch(value)), value);
    }
    EXPECT_EQ(to_string(*parse_watch("30:end"), "m"), "30m:end");
}

TEST(WatchKey, TheEndIsTakenOnce) {
    std::string_view text = "30m:end:end";
    EXPECT_TRUE(take_end(text));
    EXPECT_EQ(text, "30m:end");
    text = "30m";
    EXPECT_FALSE(take_end(text));
    EXPECT_EQ(text, "30m");
}

}  // namespace
}  // namespace distgpu
