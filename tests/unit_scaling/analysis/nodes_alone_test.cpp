#include "analysis/nodes_alone.h"

#include "made_up_results.h"

#include <gtest/gtest.h>

namespace distgpu::scaling {
namespace {

// Of each node the seconds for 1000 bytes.
Results alone(const std::vector<double>& seconds) {
    Results results = made_up_results(static_cast<std::uint32_t>(seconds.size()), 2);
    for (std::uint32_t node = 0; node < seconds.size(); ++node) {
        const auto group = add_group(
            results, {.kind = Group::Kind::node, .nodes = {node}, .ranks = 2, .number = 0});
        add_measurement(results, group, {.bytes = 1000, .seconds = seconds[node]});
    }
    return results;
}

TEST(SlowAlone, TheSlowestComesFirst) {
    // The median rate is that of 1.01 s; 2 s and 4 s are about half and a quarter of it.
    const auto slow = slow_alone(alone({1, 2, 1.01, 0.99, 4, 1, 1.02}));
    ASSERT_EQ(slow.size(), 2);
    EXPECT_EQ(slow[0].node, 4U);
    EXPECT_DOUBLE_EQ(slow[0].relative, 0.25 * 1.01);
    EXPECT_EQ(slow[1].node, 1U);
    EXPECT_LT(*slow[1].robust_z, -3.5);
}

TEST(SlowAlone, EqualPeersHaveNoZ) {
    const auto slow = slow_alone(alone({1, 1, 1, 2}));
    ASSERT_EQ(slow.size(), 1);
    EXPECT_EQ(slow[0].node, 3U);
    EXPECT_EQ(slow[0].relative, 0.5);
    EXPECT_FALSE(slow[0].robust_z);
}

// 8 % below, however far outside the spread; 15 % below within a spread of 10 %.
TEST(SlowAlone, BothALargeAndAnUnusualDifferenceAreNeeded) {
    EXPECT_TRUE(slow_alone(alone({1, 1, 1, 1 / 0.92})).empty());
    EXPECT_TRUE(slow_alone(alone({1, 1.1, 0.9, 1.05, 0.95, 1 / 0.85})).empty());
}

TEST(SlowAlone, OfTwoNodesNoneIsTheUsual) {
    EXPECT_TRUE(slow_alone(alone({1, 3})).empty());
}

// Four GPUs have another rate than two.
TEST(SlowAlone, OnlyNodesWithAsManyRanksAreCompared) {
    Results results = alone({1, 1, 1, 2});
    results.groups[3].ranks = 4;
    EXPECT_TRUE(slow_alone(results).empty());
}

TEST(SlowAlone, OtherGroupsAreNotLookedAt) {
    Results results = alone({1, 1, 1, 2});
    for (Group& group : results.groups) group.kind = Group::Kind::nodes;
    EXPECT_TRUE(slow_alone(results).empty());
}

}  // namespace
}  // namespace distgpu::scaling
