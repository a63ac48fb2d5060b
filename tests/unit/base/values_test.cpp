// Lists and numbers in variables.
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

TEST(WholeNumber, IsDigitsAlone) {
    EXPECT_EQ(whole_number("0"), 0U);
    EXPECT_EQ(whole_number("4294967295"), 4294967295U);
    for (const char* text : {"", "4294967296", "-1", "+1", " 1", "1 ", "1a", "0x1"}) {
        EXPECT_EQ(whole_number(text), std::nullopt) << text;
    }
}

}  // namespace
}  // namespace distgpu
