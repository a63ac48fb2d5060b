// What no layout is made of, with the whole message.
#include "layout_testing.h"
#include "mapping/layout/step_layout.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace distgpu {
namespace {

using Kind = Distribution::Kind;
using Map = std::vector<TaskMapBlock>;
using layout_testing::counts;
using layout_testing::hosts;
using layout_testing::Nodes;

TEST(TaskMap, RefusesWhatIsNoLayout) {
    struct Row {
        const char* title;
        Map map;
        const char* message;
    };
    const std::vector<Row> rows = {
        {"no block", {}, "no block; give at least one [nodeid,nnodes,ppn,repeat]"},
        {"zero nodes",
         {{0, 3, 1, 1}, {0, 0, 1, 1}},
         "block 1 [0,0,1,1] has a zero count; nnodes, ppn and repeat must be at least 1"},
        {"zero tasks",
         {{0, 3, 0, 1}},
         "block 0 [0,3,0,1] has a zero count; nnodes, ppn and repeat must be at least 1"},
        {"zero repeat",
         {{0, 3, 1, 0}},
         "block 0 [0,3,1,0] has a zero count; nnodes, ppn and repeat must be at least 1"},
        {"node past the end",
         {{0, 4, 1, 1}},
         "block 0 [0,4,1,1] ends at node 3, but the host list has 3 nodes; number the nodes from 0 "
         "in "
         "the order of the host list"},
        {"node sum past 32 bits",
         {{4294967295, 4294967295, 1, 1}},
         "block 0 [4294967295,4294967295,1,1] ends at node 8589934589, but the host list has 3 "
         "nodes; "
         "number the nodes from 0 in the order of the host list"},
        {"a round too large",
         {{0, 3, 4294967295, 4294967295}},
         "block 0 [0,3,4294967295,4294967295] makes more than 2147483647 tasks; check ppn and "
         "repeat"},
        {"rounds too large",
         {{0, 3, 2, 4294967295}},
         "block 0 [0,3,2,4294967295] makes more than 2147483647 tasks; check ppn and repeat"},
        {"sum too large",
         {{0, 3, 1, 1}, {0, 1, 2147483645, 1}},
         "block 1 [0,1,2147483645,1] makes more than 2147483647 tasks; check ppn and repeat"},
        {"node without task",
         {{0, 1, 1, 1}, {2, 1, 1, 1}},
         "no task on node 1 (n2); place at least one task on each host, or leave the host out"},
        {"last node without task",
         {{0, 2, 1, 1}},
         "no task on node 2 (n3); place at least one task on each host, or leave the host out"},
    };
    for (const auto& row : rows) {
        const auto layout = StepLayout::from_task_map(hosts("n[1-3]"), row.map);
        ASSERT_FALSE(layout) << row.title;
        EXPECT_EQ(layout.error().message(), std::string{"distgpu: task map: "} + row.message)
            << row.title;
    }
}

TEST(TaskMap, RefusesProductsThatWrap) {
    // 4 * 2^31 * 2^31 is 0 in 64 bits.
    const auto wraps = StepLayout::from_task_map(hosts("n[1-4]"), {{0, 4, 2147483648, 2147483648}});
    ASSERT_FALSE(wraps);
    EXPECT_EQ(wraps.error().message(),
              "distgpu: task map: block 0 [0,4,2147483648,2147483648] makes more than 2147483647 "
              "tasks; check ppn and repeat");
}

TEST(TaskMap, RefusesAnEmptyHostList) {
    const auto no_hosts = StepLayout::from_task_map(HostList{}, {{0, 1, 1, 1}});
    ASSERT_FALSE(no_hosts);
    EXPECT_EQ(no_hosts.error().message(),
              "distgpu: task map: block 0 [0,1,1,1] ends at node 0, but the host list has 0 nodes; "
              "number "
              "the nodes from 0 in the order of the host list");
}

TEST(TaskMap, RefusesTooManyBlocks) {
    const std::string message =
        "distgpu: task map: more than 1048576 blocks; use a more regular distribution of the tasks";
    const auto map =
        StepLayout::from_task_map(hosts("n[1-3]"), Map(StepLayout::max_blocks + 1, {0, 3, 1, 1}));
    ASSERT_FALSE(map);
    EXPECT_EQ(map.error().message(), message);

    Nodes nodes;
    for (std::uint32_t i = 0; i <= StepLayout::max_blocks; ++i) nodes.push_back(2 * (i % 2));
    const auto assignment = StepLayout::from_assignment(hosts("n[1-3]"), nodes);
    ASSERT_FALSE(assignment);
    EXPECT_EQ(assignment.error().message(), message);

    const auto cyclic =
        StepLayout::distribute(hosts("n[1-3]"), counts("600000,1,600000"), {.kind = Kind::cyclic});
    ASSERT_FALSE(cyclic);
    EXPECT_EQ(cyclic.error().message(), message);
}

TEST(Distribute, RefusesCountsThatDoNotFitTheHosts) {
    struct Row {
        const char* title;
        std::vector<TasksRun> counts;
        Distribution distribution;
        const char* message;
    };
    const Distribution cyclic{.kind = Kind::cyclic};
    const std::vector<Row> rows = {
        {"too few",
         {{4, 2}},
         cyclic,
         "tasks per node: counts for 2 nodes, but the host list has 3; give one count per host"},
        {"too many",
         {{4, 2}, {1, 2}, {1, 5}},
         cyclic,
         "tasks per node: counts for at least 4 nodes, but the host list has 3; give one count per "
         "host"},
        {"none",
         {},
         cyclic,
         "tasks per node: counts for 0 nodes, but the host list has 3; give one count per host"},
        {"zero tasks",
         {{4, 2}, {0, 1}},
         cyclic,
         "tasks per node: 0 tasks on 1 nodes; each node needs at least one task"},
        {"zero nodes",
         {{4, 3}, {1, 0}},
         cyclic,
         "tasks per node: 1 tasks on 0 nodes; each node needs at least one task"},
        {"too many tasks",
         {{2147483647, 1}, {1, 2}},
         cyclic,
         "tasks per node: more than 2147483647 tasks; check the counts"},
        {"plane of nothing",
         {{4, 3}},
         {.kind = Kind::plane, .plane_size = 0},
         "plane size: 0 tasks per round; give at least 1, such as plane=4"},
    };
    for (const auto& row : rows) {
        const auto layout = StepLayout::distribute(hosts("n[1-3]"), row.counts, row.distribution);
        ASSERT_FALSE(layout) << row.title;
        EXPECT_EQ(layout.error().message(), std::string{"distgpu: "} + row.message) << row.title;
    }
    const auto no_hosts = StepLayout::distribute(HostList{}, counts("1"), cyclic);
    ASSERT_FALSE(no_hosts);
    EXPECT_EQ(no_hosts.error().message(),
              "distgpu: tasks per node: a host list of 0 nodes; name 1 to 16777216 hosts");
}

TEST(Assignment, RefusesNodesThatDoNotExist) {
    const auto past_end = StepLayout::from_assignment(hosts("n[1-3]"), Nodes{0, 1, 3, 2});
    ASSERT_FALSE(past_end);
    EXPECT_EQ(
        past_end.error().message(),
        "distgpu: task map: task 2 is on node 3, but the host list has 3 nodes; number the nodes "
        "from 0 in the order of the host list");
    const auto none = StepLayout::from_assignment(hosts("n[1-3]"), {});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().message(),
              "distgpu: task map: no block; give at least one [nodeid,nnodes,ppn,repeat]");
    const auto unused = StepLayout::from_assignment(hosts("n[1-3]"), Nodes{0, 2, 2});
    ASSERT_FALSE(unused);
    EXPECT_EQ(unused.error().message(),
              "distgpu: task map: no task on node 1 (n2); place at least one task on each host, or "
              "leave the host out");
}

TEST(TaskLists, RefuseTasksThatAreNotThereOrTwice) {
    const auto refusal = [](const std::vector<Nodes>& lists) {
        const auto layout = StepLayout::from_task_lists(hosts("n[1-2]"), lists);
        return layout ? std::string() : layout.error().message();
    };
    EXPECT_EQ(refusal({{0, 1}, {3}}),
              "distgpu: task map: task 3 of 3, on node 1, does not exist; name each task on one "
              "node");
    EXPECT_EQ(refusal({{0, 1}, {1}}),
              "distgpu: task map: task 1 of 3, on node 1, is on a node already; name each task on "
              "one node");
    EXPECT_EQ(refusal({{0, 1}, {}}),
              "distgpu: task map: no task on node 1 (n2); place at least one task on each host, or "
              "leave the host out");
    EXPECT_EQ(refusal({{0}, {1}, {2}}),
              "distgpu: task map: task 2 is on node 2, but the host list has 2 nodes; number the "
              "nodes from 0 in the order of the host list");
}

TEST(Components, RefusesNoneAndTooMany) {
    const auto none = StepLayout::from_components({});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().message(),
              "distgpu: heterogeneous step: no component; give at least one");
    const auto large = StepLayout::distribute(hosts("n[1-16777216]"), counts("1(x16777216)"),
                                              {.kind = Kind::block});
    ASSERT_TRUE(large);
    const std::vector<StepLayout> twice = {*large, *large};
    const auto both = StepLayout::from_components(twice);
    ASSERT_FALSE(both);
    EXPECT_EQ(both.error().message(),
              "distgpu: heterogeneous step: 33554432 nodes and 33554432 tasks or more; use at most "
              "16777216 nodes and 2147483647 tasks");
}

}  // namespace
}  // namespace distgpu
