#include "base/json.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

// The problem of {"x": VALUE}, or "".
template <class Read>
std::string problem_of(const std::string& value, Read&& read) {
    const auto problem = read_json(R"({"x":)" + value + "}", read);
    return problem ? problem->message() : "";
}

TEST(ReadJson, RefusesWhatIsNoObject) {
    const auto read = [](const JsonFields&) { FAIL(); };
    for (const std::string& text :
         {std::string(), std::string("{"), std::string("{} {}"), std::string(32, '[')}) {
        EXPECT_EQ(read_json(text, read)->message(), "not JSON, or cut short");
    }
    for (const char* text : {"[]", "null", "1", "\"{}\""}) {
        EXPECT_EQ(read_json(text, read)->message(), "not a JSON object") << text;
    }
}

std::string nested(std::size_t lists, const std::string& inner) {
    return R"({"x":)" + std::string(lists, '[') + inner + std::string(lists, ']') + "}";
}

// A parsed level takes much more memory than its bracket.
TEST(ReadJson, RefusesWhatIsNestedTooDeeply) {
    const auto read = [](const JsonFields&) {};
    const std::string problem = "nested deeper than 32 levels";
    EXPECT_EQ(read_json(nested(31, ""), read), std::nullopt);
    EXPECT_EQ(read_json(nested(32, ""), read)->message(), problem);
    EXPECT_EQ(read_json(std::string(1'000'000, '['), read)->message(), problem);
    // Brackets in a text, also behind a quote in it, are none.
    EXPECT_EQ(read_json(nested(1, "\"" + std::string(100, '{') + "\""), read), std::nullopt);
    EXPECT_EQ(read_json(nested(1, R"("\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\")"), read),
              std::nullopt);
    // Beside each other they are not deep.
    std::string beside = "[]";
    for (int i = 0; i < 100; ++i) beside += ",[]";
    EXPECT_EQ(read_json(nested(1, beside), read), std::nullopt);
}

TEST(JsonFields, RefusesAnotherType) {
    const auto text = [](const JsonFields& fields) { EXPECT_EQ(fields.text("x"), ""); };
    const auto flag = [](const JsonFields& fields) { EXPECT_FALSE(fields.flag("x")); };
    const auto number = [](const JsonFields& fields) { EXPECT_EQ(fields.number("x"), 0); };
    const auto count = [](const JsonFields& fields) {
        EXPECT_EQ(fields.count<std::uint16_t>("x"), 0);
    };
    const auto texts = [](const JsonFields& fields) { fields.texts("x"); };
    const auto numbers = [](const JsonFields& fields) { fields.numbers("x"); };
    for (const char* value : {"1", "null", "[]", "{}", "true"}) {
        EXPECT_EQ(problem_of(value, text), "\"x\": not a string") << value;
    }
    for (const char* value : {"1", "null", "\"true\""}) {
        EXPECT_EQ(problem_of(value, flag), "\"x\": not true or false") << value;
    }
    for (const char* value : {"-1", "-0.5", "null", "\"1\"", "[]"}) {
        EXPECT_EQ(problem_of(value, number), "\"x\": not a number from 0") << value;
    }
    for (const char* value : {"-1", "1.0", "65536", "1e2", "18446744073709551617", "\"1\""}) {
        EXPECT_EQ(problem_of(value, count), "\"x\": not a whole number up to 65535") << value;
    }
    EXPECT_EQ(problem_of("[\"a\",1]", texts), "\"x\": not a list of strings");
    EXPECT_EQ(problem_of("{}", texts), "\"x\": not a list");
    for (const char* value : {"[1,null]", "[\"1\"]", "[[]]"}) {
        EXPECT_EQ(problem_of(value, numbers), "\"x\": not a list of numbers") << value;
    }
    EXPECT_EQ(problem_of("1", numbers), "\"x\": not a list");
}

// Numbers become indices: one too high would be read beyond a vector's end.
TEST(JsonFields, BoundsIndices) {
    const auto index = [](const JsonFields& fields) { EXPECT_LT(fields.index("x", 3), 3); };
    const auto indices = [](const JsonFields& fields) {
        for (const auto value : fields.indices("x", 3)) EXPECT_LT(value, 3);
    };
    EXPECT_EQ(problem_of("2", index), "");
    EXPECT_EQ(problem_of("3", index), "\"x\": not a whole number below 3");
    EXPECT_EQ(problem_of("[0,2]", indices), "");
    EXPECT_EQ(problem_of("[0,3]", indices), "\"x\": not a whole number below 3");
}

TEST(JsonFields, NamesTheFirstProblemAndItsPlace) {
    const auto problem =
        read_json(R"({"nodes":[{"gpus":[{"id":1}]},{"gpus":[{"id":-1},{"id":"?"}]}]})",
                  [](const JsonFields& fields) {
                      fields.for_each("nodes", [](const JsonFields& node) {
                          node.for_each("gpus", [](const JsonFields& gpu) { gpu.index("id", 9); });
                      });
                  });
    EXPECT_EQ(problem->message(), "\"nodes[1].gpus[0].id\": not a whole number below 9");
    EXPECT_EQ(problem->field, "nodes[1].gpus[0].id");
}

TEST(JsonFields, ReadsObjects) {
    const auto id = [](const JsonFields& fields) { return fields.index("id", 9); };
    const auto list = [&](const JsonFields& fields) {
        EXPECT_LE(fields.objects("x", id).size(), 2);
    };
    const auto one = [&](const JsonFields& fields) { fields.optional_object("x", id); };
    EXPECT_EQ(problem_of(R"([{"id":1},{"id":2}])", list), "");
    EXPECT_EQ(problem_of(R"([{"id":1},2])", list), "\"x[1]\": not an object");
    EXPECT_EQ(problem_of(R"({"id":1})", list), "\"x\": not a list");
    EXPECT_EQ(problem_of("null", one), "");
    EXPECT_EQ(problem_of("[]", one), "\"x\": not an object");
    EXPECT_EQ(problem_of(R"({"id":9})", one), "\"x.id\": not a whole number below 9");
}

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
    // Text that is not UTF-8 is mended.
    EXPECT_EQ(JsonText("a\xff").line(), "\"a\ufffd\"");
    EXPECT_EQ(JsonText({{"a\"", 1}}).line(), R"({"a\"":1})");
}

}  // namespace
}  // namespace distgpu
