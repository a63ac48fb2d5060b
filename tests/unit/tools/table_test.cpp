// Tables for people.
#include "table.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

TEST(Table, ColumnsAreAsWideAsTheirWidestCell) {
    EXPECT_EQ(table({{"A", "b", "c"}, {"LONG", "", "c"}}), "A     b  c\nLONG     c\n");
    EXPECT_EQ(table({{"A", "b", "c"}, {"A", "longer"}, {"A", "", ""}}),
              "A  b       c\nA  longer\nA\n");
}

TEST(Table, NoCellSteersTheTerminal) {
    EXPECT_EQ(table({{"a\tb\n", "\x1b[1mc\x7f"}}), "a?b?  ?[1mc?\n");
}

TEST(Table, TheLastCellIsBrokenAtSpaces) {
    // Six columns are left for the words: "one two" has seven.
    EXPECT_EQ(table({{"A", "one two three"}, {"LONG", "x"}}, {.indent = 2, .width = 14}),
              "  A     one\n        two\n        three\n  LONG  x\n");
    EXPECT_EQ(table({{"A", "one two"}}, {.width = 10}), "A  one two\n");
    EXPECT_EQ(table({{"A", "one two"}}, {.width = 9}), "A  one\n   two\n");
    EXPECT_EQ(table({{"A", "  b  c"}}, {.width = 9}), "A    b  c\n");
    EXPECT_EQ(table({{"A", "x incomprehensible y"}}, {.width = 8}),
              "A  x\n   incomprehensible\n   y\n");
}

}  // namespace
}  // namespace distgpu
