// Rows of several nodes, in whatever order they come.
#include "node/verbose_rows.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

constexpr Clock::time_point start{};

TEST(VerboseRows, AreSortedByRankWhateverComesFirst) {
    VerboseRows rows(3, 2);
    EXPECT_TRUE(rows.add({"distgpu:   10  n3"}, start));
    EXPECT_TRUE(
        rows.add({"distgpu:    0  n1", "distgpu:    9  n1", "distgpu: rendezvous n1:2"}, start));
    EXPECT_TRUE(rows.add({"distgpu:    1  n2"}, start));
    EXPECT_EQ(rows.due(), start);
    EXPECT_EQ(rows.finish(),
              "distgpu:    0  n1\ndistgpu:    1  n2\ndistgpu:    9  n1\ndistgpu:   10  n3\n"
              "distgpu: rendezvous n1:2\n");
    EXPECT_EQ(rows.due(), Deadline::max());
    EXPECT_FALSE(rows.add({"distgpu:    2  n4"}, start));
    EXPECT_EQ(rows.finish(), "");
}

TEST(VerboseRows, DoNotWaitLongForANodeThatIsBehind) {
    VerboseRows rows(3, 1);
    EXPECT_EQ(rows.due(), Deadline::max());
    EXPECT_TRUE(rows.add({"distgpu:    0  n1"}, start));
    EXPECT_EQ(rows.due(), start + std::chrono::seconds(5));
    EXPECT_TRUE(rows.add({"distgpu:    1  n2"}, start + std::chrono::seconds(3)));
    EXPECT_EQ(rows.due(), start + std::chrono::seconds(8));
}

TEST(VerboseRows, AreNoMoreThanANodeHas) {
    VerboseRows rows(2, 1);
    EXPECT_FALSE(rows.add({"more", "rows", "than"}, start));
    EXPECT_EQ(rows.finish(), "");
}

}  // namespace
}  // namespace distgpu
