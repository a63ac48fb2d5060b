// Quoting what a user typed: one line, printable, of bounded length.
#include "base/excerpt.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace distgpu {
namespace {

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
    for (const auto& row : rows) EXPECT_EQ(excerpt(row.text), row.excerpt) << row.title;
}

TEST(Excerpt, CutsTo60Characters) {
    EXPECT_EQ(excerpt(std::string(60, 'x')), std::string(60, 'x'));
    EXPECT_EQ(excerpt(std::string(61, 'x')), std::string(57, 'x') + "...");
    EXPECT_EQ(excerpt(std::string(100'000, '\n')), std::string(57, '?') + "...");
}

}  // namespace
}  // namespace distgpu
