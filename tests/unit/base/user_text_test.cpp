// Text that nobody believes yet, and what may leave it.
#include "base/user_text.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

TEST(UserText, IsANumberBelowALimit) {
    EXPECT_EQ(UserText("7").number_below(8), 7U);
    EXPECT_EQ(UserText("8").number_below(8), std::nullopt);
    EXPECT_EQ(UserText("7 ").number_below(8), std::nullopt);
}

// A newline would begin a line of its own in slurmd's log.
TEST(UserText, IsALineWithoutControlCharacters) {
    EXPECT_EQ(UserText("a b~").line(4), "a b~");
    EXPECT_EQ(UserText("a b~").line(3), std::nullopt);
    for (const char* text : {"a\nerror: forged", "a\r", "\x1b[2J", "a\x7f", "h\xc3\xb6st"}) {
        EXPECT_EQ(UserText(text).line(100), std::nullopt) << text;
        EXPECT_EQ(UserText(text).shown().find_first_of("\n\r\x1b\x7f"), std::string::npos) << text;
    }
}

TEST(UserText, IsWhatAReaderMakesOfIt) {
    EXPECT_EQ(UserText("12").read_by(whole_number), 12U);
}

}  // namespace
}  // namespace distgpu
