// A component's numbers and the step's: one place converts them.
#include "mapping/texts/layout_check.h"

#include <gtest/gtest.h>

#include <string>
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

StepLayout blocks(std::vector<std::string> nodes, std::vector<TasksRun> counts) {
    return *StepLayout::distribute(HostList::from_names(nodes), counts,
                                   Distribution{Distribution::Kind::block, 0});
}

// node01: tasks 0 and 1, node02: 2, node03: 3 and 4, node01 again: 5 and 6.
const StepLayout three_components = *StepLayout::from_components(
    std::vector{blocks({"node01", "node02"}, {{2, 1}, {1, 1}}), blocks({"node03"}, {{2, 1}}),
                blocks({"node01"}, {{2, 1}})});

ComponentTasks tasks_on_first_node(std::uint32_t count) {
    ComponentTasks component;
    for (std::uint32_t task = 0; task < count; ++task) {
        component.tasks.push_back(ComponentTaskId{task});
    }
    return component;
}

using Offsets = std::vector<ComponentOffset>;

TEST(PossibleOffsets, IsTheOneThatFitsNodeAndTasks) {
    EXPECT_EQ(possible_offsets(three_components, tasks_on_first_node(2), "node03"),
              (Offsets{{2, 3}}));
    EXPECT_EQ(
        possible_offsets(three_components, {ComponentNode{1}, {ComponentTaskId{2}}}, "node02"),
        (Offsets{{0, 0}}));
}

TEST(PossibleOffsets, AreSeveralWhereComponentsOfOneShapeShareANode) {
    EXPECT_EQ(possible_offsets(three_components, tasks_on_first_node(2), "node01"),
              (Offsets{{0, 0}, {3, 5}}));
}

// A host may have another name than its node.
TEST(PossibleOffsets, AreAllThatFitWhereNoNodeHasTheName) {
    EXPECT_EQ(possible_offsets(three_components, tasks_on_first_node(2), "host7"),
              (Offsets{{0, 0}, {2, 3}, {3, 5}}));
}

TEST(PossibleOffsets, AreNoneWhereTheLayoutIsAnothers) {
    EXPECT_EQ(possible_offsets(three_components, tasks_on_first_node(4), "node03"), Offsets{});
}

}  // namespace
}  // namespace distgpu
