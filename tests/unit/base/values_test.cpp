// Lists, numbers and addresses in variables.
#include "base/values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

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

TEST(WholeNumber, IsDigitsAlone) {
    EXPECT_EQ(whole_number_64("18446744073709551615"), 18446744073709551615U);
    EXPECT_EQ(whole_number_64("18446744073709551616"), std::nullopt);
    EXPECT_EQ(whole_number("0"), 0U);
    EXPECT_EQ(whole_number("4294967295"), 4294967295U);
    EXPECT_EQ(whole_number("4294967296"), std::nullopt);
    EXPECT_EQ(number_below("7", 8), 7U);
    EXPECT_EQ(number_below("8", 8), std::nullopt);
    for (const char* text : {"", "-1", "+1", " 1", "1 ", "1a", "1K", "1.0", "0x1"}) {
        EXPECT_EQ(whole_number(text), std::nullopt) << text;
        EXPECT_EQ(whole_number_64(text), std::nullopt) << text;
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
    for (const auto& [text, first, last] :
         {std::tuple{"3", 3U, 3U}, {"0-7", 0U, 7U}, {"7-7", 7U, 7U}}) {
        const auto range = number_range_below(text, 8);
        ASSERT_TRUE(range) << text;
        EXPECT_EQ(std::pair(range->first, range->last), std::pair(first, last)) << text;
    }
    for (const char* text : {"", "8", "0-8", "2-1", "-", "1-", "-1", "1-2-3", "1-2,3", " 1"}) {
        EXPECT_FALSE(number_range_below(text, 8)) << text;
    }
}

TEST(HostAndPort, BracketsIpv6AddressesAndIsReadAsItIsWritten) {
    EXPECT_EQ(host_and_port("node01", 29500), "node01:29500");
    EXPECT_EQ(host_and_port("10.0.0.1", 1024), "10.0.0.1:1024");
    EXPECT_EQ(host_and_port("fd00::1", 65535), "[fd00::1]:65535");
    EXPECT_EQ(host_and_port("::1", 2000), "[::1]:2000");
    for (const auto& [host, port] : {std::pair{"node01", 0}, std::pair{"fd00::1", 65535}}) {
        const std::string text = host_and_port(host, static_cast<std::uint16_t>(port));
        const auto read = split_host_and_port(text);
        ASSERT_TRUE(read) << text;
        EXPECT_EQ(read->host, host);
        EXPECT_EQ(read->port, port);
    }
    for (const char* text : {"", "node01", "node01:", "node01:65536", "node01:-1", "node01:1x"}) {
        EXPECT_FALSE(split_host_and_port(text)) << text;
    }
}

using Words = std::vector<std::string_view>;

TEST(NearestWord, FindsTheWordWithFewestEdits) {
    const Words words{"pytorch", "torchrun", "tensorflow", "port", "off"};
    struct Row {
        const char* title;
        std::string_view word;
        std::optional<std::string_view> nearest;
    };
    const std::vector<Row> rows = {
        {"the word itself", "pytorch", "pytorch"},
        {"one swap of neighbours at the end", "pytorhc", "pytorch"},
        {"one swap of neighbours inside", "pytroch", "pytorch"},
        {"a letter too few", "pytoch", "pytorch"},
        {"a letter too many", "ppytorch", "pytorch"},
        {"a wrong letter", "pytorcj", "pytorch"},
        {"two wrong letters", "PyTorch", "pytorch"},
        {"three edits of seven letters", "pXtXrXh", std::nullopt},
        {"three edits of nine letters", "tXnXorXlow", "tensorflow"},
        {"four edits of ten letters", "tXnXoXflXw", std::nullopt},
        {"a swap in four letters", "prot", "port"},
        {"two edits in four letters", "prto", std::nullopt},
        {"one edit in three letters", "oft", "off"},
        {"one edit in two letters", "of", std::nullopt},
        {"nothing typed", "", std::nullopt},
    };
    for (const auto& row : rows) EXPECT_EQ(nearest_word(row.word, words), row.nearest) << row.title;
}

TEST(NearestWord, HasItsBounds) {
    // Two edits are allowed from five letters on.
    EXPECT_EQ(nearest_word("abcXeX", Words{"abcdef"}), "abcdef");
    EXPECT_EQ(nearest_word("abcXY", Words{"abcde"}), "abcde");
    EXPECT_EQ(nearest_word("abXY", Words{"abcd"}), std::nullopt);
    // Of equal ones it is the first.
    EXPECT_EQ(nearest_word("ports", Words{"porta", "portb"}), "porta");
    EXPECT_EQ(nearest_word("ports", Words{"pXrtb", "porta"}), "porta");
    // The cost grows with the product of the lengths.
    const std::string longest(32, 'a');
    const std::string too_long(33, 'a');
    EXPECT_EQ(nearest_word(longest, Words{longest}), longest);
    EXPECT_EQ(nearest_word(too_long, Words{too_long}), std::nullopt);
}

}  // namespace
}  // namespace distgpu
