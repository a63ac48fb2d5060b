// The stacks of all ranks as one tree.
#include "why/stack_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace distgpu {
namespace {

using testing::IsEmpty;

RankGroup group_at(const std::vector<std::uint32_t>& ranks, const std::string& functions) {
    RankGroup group;
    group.ranks = ranks;
    for (const char function : functions) group.stack.push_back({std::string(1, function)});
    return group;
}

std::string tree(const std::vector<RankGroup>& groups) {
    return to_text(stack_tree(groups));
}

TEST(StackTree, OfOneStackIsAChain) {
    EXPECT_EQ(tree({group_at({0, 1, 2}, "ab")}),
              "  a\n"
              "    b  ranks 0-2\n");
}

TEST(StackTree, BranchesWhereStacksDoTheFewestRanksFirst) {
    EXPECT_EQ(tree({group_at({0, 1, 3}, "abc"), group_at({2}, "abde"), group_at({4, 5}, "abf")}),
              "  a\n"
              "    b  ranks 0-5\n"
              "      d\n"
              "        e  rank 2\n"
              "      f  ranks 4-5\n"
              "      c  ranks 0-1,3\n");
}

TEST(StackTree, OfAsManyRanksIsInTheOrderOfNames) {
    EXPECT_EQ(tree({group_at({0}, "ac"), group_at({1}, "ab")}),
              "  a  ranks 0-1\n"
              "    b  rank 1\n"
              "    c  rank 0\n");
}

TEST(StackTree, ShowsWhoStaysWhereOthersWentOn) {
    EXPECT_EQ(tree({group_at({0, 1}, "a"), group_at({2}, "ab")}),
              "  a  ranks 0-2\n"
              "    b  rank 2\n");
}

// Groups differ in what they do, too.
TEST(StackTree, JoinsGroupsOfOnePlace) {
    EXPECT_EQ(tree({group_at({0, 2}, "ab"), group_at({1}, "ab")}),
              "  a\n"
              "    b  ranks 0-2\n");
}

TEST(StackTree, MayHaveSeveralRoots) {
    EXPECT_EQ(tree({group_at({0, 1}, "a"), group_at({2}, "b")}),
              "  b  rank 2\n"
              "  a  ranks 0-1\n");
}

TEST(StackTree, TellsLinesApart) {
    RankGroup one = group_at({0}, "a");
    RankGroup other = group_at({1}, "a");
    one.stack[0] = {"a", "f.py", 1};
    other.stack[0] = {"a", "f.py", 2};
    EXPECT_EQ(tree({one, other}),
              "  a (f.py:1)  rank 0\n"
              "  a (f.py:2)  rank 1\n");
}

TEST(StackTree, HasNoGroupWithoutAStack) {
    EXPECT_THAT(stack_tree({group_at({0}, "")}), IsEmpty());
    EXPECT_THAT(stack_tree({}), IsEmpty());
    EXPECT_EQ(tree({group_at({0}, ""), group_at({1}, "a")}), "  a  rank 1\n");
}

}  // namespace
}  // namespace distgpu
