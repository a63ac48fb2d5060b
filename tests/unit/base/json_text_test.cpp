#include "base/json_text.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace distgpu {
namespace {

TEST(JsonText, WritesEachType) {
    EXPECT_EQ(JsonText().line(), "null");
    EXPECT_EQ(JsonText(true).line(), "true");
    EXPECT_EQ(JsonText(false).line(), "false");
    EXPECT_EQ(JsonText(UINT64_MAX).line(), "18446744073709551615");
    EXPECT_EQ(JsonText(-1).line(), "-1");
    EXPECT_EQ(JsonText(0.1).line(), "0.1");
    EXPECT_EQ(JsonText(400.0).line(), "400.0");
    EXPECT_EQ(JsonText("a").line(), "\"a\"");
    EXPECT_EQ(JsonText(std::optional<int>()).line(), "null");
    EXPECT_EQ(JsonText(std::optional(7)).line(), "7");
    EXPECT_EQ(json_text_or_null("").line(), "null");
}

TEST(JsonText, WritesObjectsInTheirOrderAndLists) {
    const JsonText json{
        {"z", 1}, {"a", JsonText::list(std::vector<std::string>{"x", "y"})}, {"o", {{"i", 2}}}};
    EXPECT_EQ(json.line(), R"({"z":1,"a":["x","y"],"o":{"i":2}})");
    EXPECT_EQ(JsonText(std::vector<JsonMember>()).line(), "{}");
    EXPECT_EQ(JsonText::list(std::vector<int>()).line(), "[]");
    EXPECT_EQ(JsonText({{"a", JsonText::list(std::vector<int>{1})}}).indented(),
              "{\n \"a\": [\n  1\n ]\n}");
}

TEST(JsonText, EscapesText) {
    EXPECT_EQ(JsonText("a\"b\\c\n\x01").line(), R"("a\"b\\c\n\u0001")");
    // Each alone, as any of them ends the way of text that needs no escape.
    EXPECT_EQ(JsonText("a\"").line(), R"("a\"")");
    EXPECT_EQ(JsonText("\\").line(), R"("\\")");
    EXPECT_EQ(JsonText("\n").line(), R"("\n")");
    EXPECT_EQ(JsonText("é").line(), "\"é\"");
    EXPECT_EQ(JsonText({{"a\"", 1}}).line(), R"({"a\"":1})");
}

TEST(JsonText, TextThatIsNotUtf8IsMended) {
    EXPECT_EQ(JsonText("a\xff").line(), "\"a\ufffd\"");
}

}  // namespace
}  // namespace distgpu
