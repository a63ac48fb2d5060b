// Lists, numbers and addresses in variables.
#include "base/values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace distgpu {
namespace {

using testing::ElementsAre;

TEST(CommaItems, KeepEmptyOnes) {
    EXPECT_THAT(comma_items("a,bc,d"), ElementsAre("a", "bc", "d"));
    EXPECT_THAT(comma_items(",a,"), ElementsAre("", "a", ""));
    EXPECT_THAT(comma_items(""), ElementsAre(""));
}

TEST(Decimal, IsANumberWithOrWithoutAFraction) {
    EXPECT_EQ(decimal("12.5"), 12.5);
    EXPECT_EQ(decimal("4"), 4);
    EXPECT_EQ(decimal("1e3"), 1000);
    EXPECT_EQ(decimal("-0.5"), -0.5);
    for (const char* text : {"", "1,5", "+1", " 1", "1 ", "1s", "1e999", "inf", "nan"}) {
        EXPECT_EQ(decimal(text), std::nullopt) << text;
    }
}

TEST(WholeNumber64, IsDigitsAlone) {
    EXPECT_EQ(whole_number_64("18446744073709551615"), 18446744073709551615U);
    for (const char* text : {"", "18446744073709551616", "-1", "1.0", "1K"}) {
        EXPECT_EQ(whole_number_64(text), std::nullopt) << text;
    }
}

TEST(WholeNumber, IsDigitsAlone) {
    EXPECT_EQ(whole_number("0"), 0U);
    EXPECT_EQ(whole_number("4294967295"), 4294967295U);
    for (const char* text : {"", "4294967296", "-1", "+1", " 1", "1 ", "1a", "0x1"}) {
        EXPECT_EQ(whole_number(text), std::nullopt) << text;
    }
}

TEST(NumberBelow, EndsBeforeTheLimit) {
    EXPECT_EQ(number_below("7", 8), 7U);
    for (const char* text : {"8", "", "7a", "-1"}) {
        EXPECT_EQ(number_below(text, 8), std::nullopt) << text;
    }
}

TEST(SecondsIn, CountsSecondsUnlessMinutesAreNamed) {
    EXPECT_EQ(seconds_in("90", 600), 90U);
    EXPECT_EQ(seconds_in("600s", 600), 600U);
    EXPECT_EQ(seconds_in("10m", 600), 600U);
    for (const char* text : {"", "s", "m", "0", "0m", "601", "11m", "1ms", "1h", "-1s", " 1"}) {
        EXPECT_EQ(seconds_in(text, 600), std::nullopt) << text;
    }
    // 60 times this is 44 in 32 bits.
    EXPECT_EQ(seconds_in("71582789m", 600), std::nullopt);
}

TEST(NumberRangeBelow, HasBothEndsBelowTheLimit) {
    struct Row {
        const char* text;
        std::uint32_t first, last;
    };
    for (const Row& row : {Row{"3", 3, 3}, Row{"0-7", 0, 7}, Row{"7-7", 7, 7}}) {
        const auto range = number_range_below(row.text, 8);
        ASSERT_TRUE(range) << row.text;
        EXPECT_EQ(range->first, row.first) << row.text;
        EXPECT_EQ(range->last, row.last) << row.text;
    }
    for (const char* text : {"", "8", "0-8", "2-1", "-", "1-", "-1", "1-2-3", "1-2,3", " 1"}) {
        EXPECT_FALSE(number_range_below(text, 8)) << text;
    }
}

TEST(HostAndPort, BracketsIpv6Addresses) {
    EXPECT_EQ(host_and_port("node01", 29500), "node01:29500");
    EXPECT_EQ(host_and_port("10.0.0.1", 1024), "10.0.0.1:1024");
    EXPECT_EQ(host_and_port("fd00::1", 65535), "[fd00::1]:65535");
    EXPECT_EQ(host_and_port("::1", 2000), "[::1]:2000");
}

}  // namespace
}  // namespace distgpu
