// Placements: the rows of PlacesTasksAsSlurmDoes, KeepsArbitraryPlacementsOfSlurm and
// FollowEachOther were run on Slurm 22.05.8, 24.11.5 and 26.05.3.
#include "mapping/layout/step_layout.h"

#include "layout_testing.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace distgpu {
namespace {

using Kind = Distribution::Kind;
using Map = std::vector<TaskMapBlock>;
using layout_testing::counts;
using layout_testing::difference;
using layout_testing::hosts;
using layout_testing::map_of;
using layout_testing::Nodes;
using layout_testing::placed;

std::vector<std::string> names(const StepLayout& layout) {
    std::vector<std::string> result;
    for (const auto node : placed(layout)) result.push_back(layout.hosts().name(NodeIndex{node}));
    return result;
}

struct SlurmRow {
    const char* title;
    const char* node_list;
    const char* tasks_per_node;
    Distribution distribution;
    std::vector<std::string> node_of_rank;
};

TEST(Distribute, PlacesTasksAsSlurmDoes) {
    const Distribution block{.kind = Kind::block};
    const Distribution cyclic{.kind = Kind::cyclic};
    const std::vector<SlurmRow> rows = {
        {"-N3 -n7 -m block",
         "n[1-3]",
         "5,1(x2)",
         block,
         {"n1", "n1", "n1", "n1", "n1", "n2", "n3"}},
        {"-N3 -n7 -m cyclic",
         "n[1-3]",
         "5,1(x2)",
         cyclic,
         {"n1", "n2", "n3", "n1", "n1", "n1", "n1"}},
        {"-N3 -n8 -m plane=2",
         "n[1-3]",
         "6,1(x2)",
         {.kind = Kind::plane, .plane_size = 2},
         {"n1", "n1", "n2", "n3", "n1", "n1", "n1", "n1"}},
        {"-N3 -n8 -m plane=3",
         "n[1-3]",
         "6,1(x2)",
         {.kind = Kind::plane, .plane_size = 3},
         {"n1", "n1", "n1", "n2", "n3", "n1", "n1", "n1"}},
        {"--relative=2 -N2", "n[3-4]", "1(x2)", cyclic, {"n3", "n4"}},
        {"-w n[3,2] -n4, block", "n[2-3]", "3,1", block, {"n2", "n2", "n2", "n3"}},
        {"-x n1 -N2 -n4 -m cyclic", "n[2-3]", "3,1", cyclic, {"n2", "n3", "n2", "n2"}},
        {"-N2 -n20 -O -m cyclic", "n[1-2]", "10(x2)", cyclic, {"n1", "n2", "n1", "n2", "n1",
                                                               "n2", "n1", "n2", "n1", "n2",
                                                               "n1", "n2", "n1", "n2", "n1",
                                                               "n2", "n1", "n2", "n1", "n2"}},
        {"-N3 -n5 --ntasks-per-node=2 on 22.05",
         "n[1-3]",
         "3,1,1",
         block,
         {"n1", "n1", "n1", "n2", "n3"}},
    };
    for (const auto& row : rows) {
        const auto layout = StepLayout::distribute(hosts(row.node_list), counts(row.tasks_per_node),
                                                   row.distribution);
        ASSERT_TRUE(layout) << row.title;
        EXPECT_EQ(names(*layout), row.node_of_rank) << row.title;
        EXPECT_EQ(difference(*layout, placed(*layout)), "") << row.title;
    }
}

TEST(Assignment, KeepsArbitraryPlacementsOfSlurm) {
    const Nodes hostfile = {2, 0, 2, 1, 0};
    const auto from_hostfile = StepLayout::from_assignment(hosts("n[1-3]"), hostfile);
    ASSERT_TRUE(from_hostfile);
    EXPECT_EQ(names(*from_hostfile), (std::vector<std::string>{"n3", "n1", "n3", "n2", "n1"}));
    EXPECT_EQ(difference(*from_hostfile, hostfile), "") << "-m arbitrary, hostfile n3,n1,n3,n2,n1";

    const Nodes option = {1, 0, 1, 2};
    const auto from_option = StepLayout::from_assignment(hosts("n[1-2,4]"), option);
    ASSERT_TRUE(from_option);
    EXPECT_EQ(names(*from_option), (std::vector<std::string>{"n2", "n1", "n2", "n4"}));
    EXPECT_EQ(difference(*from_option, option), "") << "-m arbitrary -n4 -w n2,n1,n2,n4";
}

TEST(TaskLists, ArePlacementsByNode) {
    const std::vector<Nodes> lists = {{1, 4}, {3}, {2, 0}};
    const auto layout = StepLayout::from_task_lists(hosts("n[1-3]"), lists);
    ASSERT_TRUE(layout);
    EXPECT_EQ(names(*layout), (std::vector<std::string>{"n3", "n1", "n3", "n2", "n1"}));
}

TEST(Components, FollowEachOtherInAHeterogeneousStep) {
    const Distribution block{.kind = Kind::block};
    const auto first = StepLayout::distribute(hosts("n1"), counts("2"), block);
    const auto second = StepLayout::distribute(hosts("n[2-3]"), counts("2,1"), block);
    ASSERT_TRUE(first && second);
    const std::vector<StepLayout> both = {*first, *second};
    const auto layout = StepLayout::from_components(both);
    ASSERT_TRUE(layout);
    EXPECT_EQ(layout->hosts(), hosts("n[1-3]"));
    EXPECT_EQ(names(*layout), (std::vector<std::string>{"n1", "n1", "n2", "n2", "n3"}));
    EXPECT_EQ(map_of(*layout), (Map{{0, 2, 2, 1}, {2, 1, 1, 1}}));
    EXPECT_EQ(difference(*layout, (Nodes{0, 0, 1, 1, 2})), "") << "-n2 -N1 : -n3 -N2";
}

TEST(Components, AHostOfTwoComponentsIsTwoNodes) {
    const Distribution cyclic{.kind = Kind::cyclic};
    const auto component = StepLayout::distribute(hosts("n[1-2]"), counts("2(x2)"), cyclic);
    ASSERT_TRUE(component);
    const std::vector<StepLayout> twice = {*component, *component};
    const auto layout = StepLayout::from_components(twice);
    ASSERT_TRUE(layout);
    EXPECT_EQ(layout->hosts().to_string(), "n[1-2,1-2]");
    EXPECT_EQ(map_of(*layout), (Map{{0, 2, 1, 2}, {2, 2, 1, 2}}));
    EXPECT_EQ(difference(*layout, (Nodes{0, 1, 0, 1, 2, 3, 2, 3})), "") << "cyclic twice";
}

TEST(CyclicMap, FullNodesAreSkipped) {
    const auto layout =
        StepLayout::distribute(hosts("n[1-5]"), counts("3,1,2,1,3"), {.kind = Kind::cyclic});
    ASSERT_TRUE(layout);
    EXPECT_EQ(difference(*layout, (Nodes{0, 1, 2, 3, 4, 0, 2, 4, 0, 4})), "") << "3,1,2,1,3";
    EXPECT_EQ(
        map_of(*layout),
        (Map{{0, 5, 1, 1}, {0, 1, 1, 1}, {2, 1, 1, 1}, {4, 1, 1, 1}, {0, 1, 1, 1}, {4, 1, 1, 1}}));
}

TEST(TaskMapSize, IsConstantForRegularSteps) {
    const auto list = hosts("n[000001-125000]");
    const std::vector<TasksRun> eight = {{8, 125000}};
    const auto block = StepLayout::distribute(list, eight, {.kind = Kind::block});
    const auto cyclic = StepLayout::distribute(list, eight, {.kind = Kind::cyclic});
    const auto plane = StepLayout::distribute(list, eight, {.kind = Kind::plane, .plane_size = 3});
    ASSERT_TRUE(block && cyclic && plane);
    EXPECT_EQ(map_of(*block), (Map{{0, 125000, 8, 1}}));
    EXPECT_EQ(map_of(*cyclic), (Map{{0, 125000, 1, 8}}));
    EXPECT_EQ(map_of(*plane), (Map{{0, 125000, 3, 2}, {0, 125000, 2, 1}}));
    EXPECT_EQ(cyclic->task_count(), 1000000U);
    EXPECT_EQ(cyclic->place(TaskId{999999}),
              (Placement{.node = NodeIndex{124999}, .local_rank = LocalRank{7}}));
    EXPECT_EQ(cyclic->task(NodeIndex{1}, LocalRank{2}), TaskId{250001});
    EXPECT_EQ(plane->task(NodeIndex{1}, LocalRank{6}), TaskId{750002});
    EXPECT_EQ(cyclic->tasks_of(NodeIndex{5}),
              (std::vector<TaskRun>{{TaskId{5}, LocalRank{0}, 1, 125000, 8}}));
}

TEST(TaskMapSize, HoldsTheLargestStep) {
    const auto layout = StepLayout::distribute(
        hosts("n[1-16777216]"), counts("127(x16777215),16777342"), {.kind = Kind::cyclic});
    ASSERT_TRUE(layout);
    EXPECT_EQ(layout->task_count(), 2147483647U);
    EXPECT_EQ(layout->place(TaskId{2147483646}),
              (Placement{.node = NodeIndex{16777215}, .local_rank = LocalRank{16777341}}));
    EXPECT_EQ(layout->task(NodeIndex{16777215}, LocalRank{16777341}), TaskId{2147483646});
    EXPECT_EQ(layout->task_map().size(), 2U);
}

TEST(TaskMap, IsCompressedWhoeverWroteIt) {
    struct Row {
        const char* title;
        Map written;
        Map kept;
    };
    const std::vector<Row> rows = {
        {"neighbours", {{0, 1, 2, 1}, {1, 2, 2, 1}}, {{0, 3, 2, 1}}},
        {"rounds", {{0, 3, 1, 1}, {0, 3, 1, 2}}, {{0, 3, 1, 3}}},
        {"rounds node by node",
         {{0, 1, 1, 1}, {1, 1, 1, 1}, {2, 1, 1, 1}, {0, 2, 1, 1}, {2, 1, 1, 1}},
         {{0, 3, 1, 2}}},
        {"one node's rounds", {{0, 1, 2, 3}, {1, 2, 1, 1}}, {{0, 1, 6, 1}, {1, 2, 1, 1}}},
        {"one node in pieces", {{0, 2, 2, 1}, {2, 1, 1, 1}, {2, 1, 1, 1}}, {{0, 3, 2, 1}}},
        {"different counts stay apart", {{0, 1, 2, 1}, {1, 2, 1, 1}}, {{0, 1, 2, 1}, {1, 2, 1, 1}}},
        {"repeated neighbours stay apart",
         {{0, 2, 1, 2}, {2, 1, 1, 2}},
         {{0, 2, 1, 2}, {2, 1, 2, 1}}},
        {"descending nodes stay apart",
         {{2, 1, 1, 1}, {1, 1, 1, 1}, {0, 1, 1, 1}},
         {{2, 1, 1, 1}, {1, 1, 1, 1}, {0, 1, 1, 1}}},
    };
    for (const auto& row : rows) {
        const auto layout = StepLayout::from_task_map(hosts("n[1-3]"), row.written);
        ASSERT_TRUE(layout) << row.title;
        EXPECT_EQ(map_of(*layout), row.kept) << row.title;
        Nodes expected;
        for (const auto& block : row.written) {
            for (std::uint32_t i = 0; i < block.repeat * block.nodes * block.tasks_per_node; ++i) {
                expected.push_back(block.node + i / block.tasks_per_node % block.nodes);
            }
        }
        EXPECT_EQ(difference(*layout, expected), "") << row.title;
    }
}

TEST(TaskMap, BlocksMayOverlapUnevenly) {
    const auto layout =
        StepLayout::from_task_map(hosts("n[1-4]"), {{1, 2, 1, 1}, {0, 4, 2, 2}, {2, 2, 1, 3}});
    ASSERT_TRUE(layout);
    EXPECT_EQ(layout->task_map().size(), 3U);
    EXPECT_EQ(difference(*layout, (Nodes{1, 2, 0, 0, 1, 1, 2, 2, 3, 3, 0, 0,
                                         1, 1, 2, 2, 3, 3, 2, 3, 2, 3, 2, 3})),
              "")
        << "overlapping";
}

}  // namespace
}  // namespace distgpu
