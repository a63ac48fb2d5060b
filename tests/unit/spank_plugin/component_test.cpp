// A component's numbers and the step's: one place converts them.
#include "component.h"

#include <gtest/gtest.h>

#include <vector>

namespace distgpu {
namespace {

// The second node of a component, with two of its tasks.
const ComponentTasks second_node{ComponentNode{1}, {ComponentTaskId{2}, ComponentTaskId{3}}};

TEST(Component, IsTheWholeStepWhereItIsTheOnlyOne) {
    EXPECT_EQ(in_step(second_node, {}), (LocalTasks{NodeIndex{1}, {TaskId{2}, TaskId{3}}}));
}

TEST(Component, ComesAfterTheNodesAndTasksOfThoseBeforeIt) {
    // Behind a component with 4 nodes and 16 tasks.
    const auto before = offset_of(second_node, LocalRank{1}, NodeIndex{5}, TaskId{19});
    ASSERT_TRUE(before);
    EXPECT_EQ(*before, (ComponentOffset{4, 16}));
    EXPECT_EQ(in_step(second_node, *before), (LocalTasks{NodeIndex{5}, {TaskId{18}, TaskId{19}}}));
    EXPECT_EQ(offset_of(second_node, LocalRank{0}, NodeIndex{5}, TaskId{18}), before);
}

TEST(Component, HasNoNumbersBelowItsOwn) {
    EXPECT_EQ(offset_of(second_node, LocalRank{0}, NodeIndex{0}, TaskId{18}), std::nullopt);
    EXPECT_EQ(offset_of(second_node, LocalRank{1}, NodeIndex{5}, TaskId{2}), std::nullopt);
}

}  // namespace
}  // namespace distgpu
