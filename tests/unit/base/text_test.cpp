#include "base/text.h"

#include "base/format.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <type_traits>

namespace distgpu {
namespace {

struct Row {
    Literal<8> name;
    Text meaning{};
};
constexpr std::array rows{Row{"seven77", "longer than the name"}, Row{"", ""}, Row{"name"}};

TEST(TableTexts, AreReadAsWritten) {
    EXPECT_EQ(rows[0].name.view(), "seven77");
    EXPECT_EQ(rows[0].meaning.view(), "longer than the name");
    EXPECT_FALSE(rows[0].name.empty());
    EXPECT_FALSE(rows[0].meaning.empty());
}

TEST(TableTexts, AreEmptyIfWrittenEmptyOrLeftOut) {
    EXPECT_TRUE(rows[1].name.empty());
    EXPECT_TRUE(rows[1].meaning.empty());
    EXPECT_EQ(rows[1].meaning.view(), "");
    EXPECT_TRUE(rows[2].meaning.empty());
    EXPECT_EQ(rows[2].meaning, rows[1].meaning);
}

TEST(TableTexts, AreEqualByTheirCharacters) {
    const std::string name = "name";
    EXPECT_TRUE(rows[2].name == name);
    EXPECT_TRUE(name == rows[2].name);
    EXPECT_TRUE(rows[2].name == "name");
    EXPECT_FALSE(rows[2].name == "names");
    EXPECT_TRUE(Text("name") == rows[2].name);
    EXPECT_TRUE(Text("name") != rows[0].name);
}

TEST(TableTexts, AreFormatted) {
    EXPECT_EQ(formatted("{}: {}.", rows[0].name, rows[0].meaning),
              "seven77: longer than the name.");
    EXPECT_EQ(formatted("{}|", rows[1].meaning), "|");
}

// What the first lines of text.h claim.
static_assert(sizeof(Row::name) == 8 && sizeof(Row::meaning) == sizeof(char*));
static_assert(std::is_trivially_copyable_v<Row>);

}  // namespace
}  // namespace distgpu
