// Text from values: for messages, and of a secret.
#include "base/format.h"

#include "base/result.h"
#include "base/secret.h"

#include <gtest/gtest.h>

#include <vector>

namespace distgpu {
namespace {

TEST(Join, SeparatesTheItems) {
    EXPECT_EQ(join(std::vector<int>{}, ", "), "");
    EXPECT_EQ(join(std::vector<int>{1}, ", "), "1");
    EXPECT_EQ(join(std::vector<int>{1, 2, 3}, ", "), "1, 2, 3");
}

TEST(Counted, OnlyOneIsSingular) {
    EXPECT_EQ(counted(1, "node"), "1 node");
    EXPECT_EQ(counted(0, "node"), "0 nodes");
    EXPECT_EQ(counted(4294967296, "node"), "4294967296 nodes");
}

TEST(Excerpt, EchoesOnlyPrintableAscii) {
    using std::string_view_literals::operator""sv;
    struct Row {
        const char* title;
        std::string_view text;
        std::string excerpt;
    };
    const std::vector<Row> rows = {
        {"empty", "", ""},
        {"the first and the last printable character", " ~", " ~"},
        {"a line feed", "a\nb", "a?b"},
        {"a terminal's escape sequence", "\x1b[31mred", "?[31mred"},
        {"a NUL byte", "a\0b"sv, "a?b"},
        {"DEL", "a\x7f", "a?"},
        {"UTF-8, byte by byte", "\xc3\xa9", "??"},
    };
    for (const auto& row : rows) {
        EXPECT_EQ(excerpt(row.text), row.excerpt) << row.title;
        // A newline would begin a line of its own in slurmd's log.
        EXPECT_EQ(printable_line(row.text, 100).has_value(), row.text == row.excerpt) << row.title;
    }
    EXPECT_EQ(printable_line("a b~", 4), "a b~");
    EXPECT_EQ(printable_line("a b~", 3), std::nullopt);
}

TEST(Excerpt, CutsTo60Characters) {
    EXPECT_EQ(excerpt(std::string(60, 'x')), std::string(60, 'x'));
    EXPECT_EQ(excerpt(std::string(61, 'x')), std::string(57, 'x') + "...");
    EXPECT_EQ(excerpt(std::string(100'000, '\n')), std::string(57, '?') + "...");
}

TEST(Error, SaysWhatIsWrongAndWhatToDo) {
    const Error error{"step 1.0", "no tasks", "ask for one with --ntasks"};
    EXPECT_EQ(error.message(), "distgpu: step 1.0: no tasks; ask for one with --ntasks");
    EXPECT_EQ((Error{"step 1.0", "no tasks", ""}).message(), "distgpu: step 1.0: no tasks");
}

const std::string digits = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eff";

TEST(Secret, IsReadAsWritten) {
    const auto secret = Secret::parse(digits);
    ASSERT_TRUE(secret);
    EXPECT_EQ(secret->to_string(), digits);
    EXPECT_EQ(secret->bytes()[1], 1);
    EXPECT_EQ(secret->bytes()[31], 255);
    EXPECT_EQ(*secret, *Secret::parse(digits));
    EXPECT_FALSE(*secret == *Secret::parse(digits.substr(0, 62) + "fe"));
}

TEST(Secret, IsSixtyFourDigits) {
    for (const std::string& text :
         {std::string(), digits.substr(1), digits + "0", std::string(64, 'F'), std::string(64, 'g'),
          " " + digits.substr(1), std::string(64, '\0')}) {
        EXPECT_EQ(Secret::parse(text), std::nullopt) << text;
    }
}

}  // namespace
}  // namespace distgpu
