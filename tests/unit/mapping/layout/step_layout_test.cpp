// Placements: the rows of PlacesTasksAsSlurmDoes, KeepsArbitraryPlacementsOfSlurm and
// FollowEachOther were run on Slurm 22.05.8, 24.11.5 and 26.05.3.
#include "mapping/layout/step_layout.h"

#include "base/format.h"
#include "layout_testing.h"
#include "mapping/message_of.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace distgpu {
namespace {

using Kind = Distribution::Kind;
using Map = std::vector<TaskMapBlock>;
using layout_testing::counts;
using layout_testing::hosts;
using layout_testing::Nodes;
using layout_testing::placed;

// Checks every query of a layout against the node of every task, counted one by one. Returns what
// differs, or nothing.
std::string difference(const StepLayout& layout, const Nodes& expected) {
    if (layout.task_count() != expected.size()) return "task_count";
    std::vector<Nodes> tasks(layout.node_count());
    std::uint32_t nodes_before = 0;
    for (std::uint32_t t = 0; t < expected.size(); ++t) {
        const NodeIndex node{expected[t]};
        auto& on_node = tasks[node.value];
        const LocalRank local{static_cast<std::uint32_t>(on_node.size())};
        if (layout.place(TaskId{t}) != Placement{node, local}) return formatted("place of {}", t);
        if (layout.task(node, local) != TaskId{t}) return formatted("task(place of {}", t);
        if (on_node.empty() && layout.node_rank(node) != NodeRank{nodes_before++}) {
            return formatted("node_rank {}", node.value);
        }
        on_node.push_back(t);
    }
    const auto [least, most] =
        std::minmax_element(tasks.begin(), tasks.end(),
                            [](const Nodes& a, const Nodes& b) { return a.size() < b.size(); });
    if (layout.max_tasks_per_node() != most->size()) return "max_tasks_per_node";
    if (layout.min_tasks_per_node() != least->size()) return "min_tasks_per_node";
    for (std::uint32_t n = 0; n < tasks.size(); ++n) {
        Nodes ids;
        for (const TaskId id : layout.task_ids(NodeIndex{n})) ids.push_back(id.value);
        if (ids != tasks[n]) return formatted("task_ids {}", n);
        if (layout.tasks_on(NodeIndex{n}) != ids.size()) return formatted("tasks_on {}", n);
    }
    const auto again = StepLayout::from_task_map(layout.hosts(), layout.task_map());
    return again && *again == layout ? "" : "from_task_map(task_map())";
}

// "n1 n1 n2": the node of each task.
std::string names(const StepLayout& layout) {
    std::vector<std::string> result;
    for (const auto node : placed(layout)) result.push_back(layout.hosts().name(NodeIndex{node}));
    return join(result, " ");
}

struct SlurmRow {
    const char* title;
    const char* node_list;
    const char* tasks_per_node;
    Distribution distribution;
    std::string node_of_rank;
};

TEST(Distribute, PlacesTasksAsSlurmDoes) {
    const Distribution block{.kind = Kind::block};
    const Distribution cyclic{.kind = Kind::cyclic};
    const std::vector<SlurmRow> rows = {
        {"-N3 -n7 -m block", "n[1-3]", "5,1(x2)", block, "n1 n1 n1 n1 n1 n2 n3"},
        {"-N3 -n7 -m cyclic", "n[1-3]", "5,1(x2)", cyclic, "n1 n2 n3 n1 n1 n1 n1"},
        {"-N3 -n8 -m plane=2",
         "n[1-3]",
         "6,1(x2)",
         {.kind = Kind::plane, .plane_size = 2},
         "n1 n1 n2 n3 n1 n1 n1 n1"},
        {"-N3 -n8 -m plane=3",
         "n[1-3]",
         "6,1(x2)",
         {.kind = Kind::plane, .plane_size = 3},
         "n1 n1 n1 n2 n3 n1 n1 n1"},
        {"--relative=2 -N2", "n[3-4]", "1(x2)", cyclic, "n3 n4"},
        {"-w n[3,2] -n4, block", "n[2-3]", "3,1", block, "n2 n2 n2 n3"},
        {"-x n1 -N2 -n4 -m cyclic", "n[2-3]", "3,1", cyclic, "n2 n3 n2 n2"},
        {"-N2 -n20 -O -m cyclic", "n[1-2]", "10(x2)", cyclic,
         "n1 n2 n1 n2 n1 n2 n1 n2 n1 n2 n1 n2 n1 n2 n1 n2 n1 n2 n1 n2"},
        {"-N3 -n5 --ntasks-per-node=2 on 22.05", "n[1-3]", "3,1,1", block, "n1 n1 n1 n2 n3"},
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
    EXPECT_EQ(names(*from_hostfile), "n3 n1 n3 n2 n1");
    EXPECT_EQ(difference(*from_hostfile, hostfile), "") << "-m arbitrary, hostfile n3,n1,n3,n2,n1";

    const Nodes option = {1, 0, 1, 2};
    const auto from_option = StepLayout::from_assignment(hosts("n[1-2,4]"), option);
    ASSERT_TRUE(from_option);
    EXPECT_EQ(names(*from_option), "n2 n1 n2 n4");
    EXPECT_EQ(difference(*from_option, option), "") << "-m arbitrary -n4 -w n2,n1,n2,n4";
}

TEST(TaskLists, ArePlacementsByNode) {
    const std::vector<Nodes> lists = {{1, 4}, {3}, {2, 0}};
    const auto layout = StepLayout::from_task_lists(hosts("n[1-3]"), lists);
    ASSERT_TRUE(layout);
    EXPECT_EQ(names(*layout), "n3 n1 n3 n2 n1");
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
    EXPECT_EQ(names(*layout), "n1 n1 n2 n2 n3");
    EXPECT_EQ(layout->task_map(), (Map{{0, 2, 2, 1}, {2, 1, 1, 1}}));
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
    EXPECT_EQ(layout->task_map(), (Map{{0, 2, 1, 2}, {2, 2, 1, 2}}));
    EXPECT_EQ(difference(*layout, (Nodes{0, 1, 0, 1, 2, 3, 2, 3})), "") << "cyclic twice";
}

TEST(CyclicMap, FullNodesAreSkipped) {
    const auto layout =
        StepLayout::distribute(hosts("n[1-5]"), counts("3,1,2,1,3"), {.kind = Kind::cyclic});
    ASSERT_TRUE(layout);
    EXPECT_EQ(difference(*layout, (Nodes{0, 1, 2, 3, 4, 0, 2, 4, 0, 4})), "") << "3,1,2,1,3";
    EXPECT_EQ(
        layout->task_map(),
        (Map{{0, 5, 1, 1}, {0, 1, 1, 1}, {2, 1, 1, 1}, {4, 1, 1, 1}, {0, 1, 1, 1}, {4, 1, 1, 1}}));
}

TEST(TaskMapSize, IsConstantForRegularSteps) {
    const auto list = hosts("n[000001-125000]");
    const std::vector<TasksRun> eight = {{8, 125000}};
    const auto block = StepLayout::distribute(list, eight, {.kind = Kind::block});
    const auto cyclic = StepLayout::distribute(list, eight, {.kind = Kind::cyclic});
    const auto plane = StepLayout::distribute(list, eight, {.kind = Kind::plane, .plane_size = 3});
    ASSERT_TRUE(block && cyclic && plane);
    EXPECT_EQ(block->task_map(), (Map{{0, 125000, 8, 1}}));
    EXPECT_EQ(cyclic->task_map(), (Map{{0, 125000, 1, 8}}));
    EXPECT_EQ(plane->task_map(), (Map{{0, 125000, 3, 2}, {0, 125000, 2, 1}}));
    EXPECT_EQ(cyclic->task_count(), 1000000U);
    EXPECT_EQ(cyclic->place(TaskId{999999}),
              (Placement{.node = NodeIndex{124999}, .local_rank = LocalRank{7}}));
    EXPECT_EQ(cyclic->task(NodeIndex{1}, LocalRank{2}), TaskId{250001});
    EXPECT_EQ(plane->task(NodeIndex{1}, LocalRank{6}), TaskId{750002});
}

// The node of each task.
Nodes expanded(const Map& map) {
    Nodes nodes;
    for (const auto& block : map) {
        for (std::uint32_t i = 0; i < block.repeat * block.nodes * block.tasks_per_node; ++i) {
            nodes.push_back(block.node + i / block.tasks_per_node % block.nodes);
        }
    }
    return nodes;
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
        EXPECT_EQ(layout->task_map(), row.kept) << row.title;
        EXPECT_EQ(difference(*layout, expanded(row.written)), "") << row.title;
    }
}

TEST(TaskMap, RefusesWhatIsNoLayout) {
    const auto refused = [](const Map& map, const char* list = "n[1-3]") {
        const auto layout = StepLayout::from_task_map(*HostList::parse(list), map);
        return layout ? "" : layout.error().object + ": " + layout.error().problem;
    };
    const auto remedy = [](const Map& map) {
        return StepLayout::from_task_map(hosts("n[1-3]"), map).error().remedy;
    };
    EXPECT_EQ(refused({}), "task map: no block");
    EXPECT_EQ(remedy({}), "give at least one [nodeid,nnodes,ppn,repeat]");
    EXPECT_EQ(refused({{0, 3, 1, 1}, {0, 0, 1, 1}}),
              "task map: block 1 [0,0,1,1] has a zero count");
    EXPECT_EQ(refused({{0, 3, 0, 1}}), "task map: block 0 [0,3,0,1] has a zero count");
    EXPECT_EQ(refused({{0, 3, 1, 0}}), "task map: block 0 [0,3,1,0] has a zero count");
    EXPECT_EQ(remedy({{0, 3, 1, 0}}), "nnodes, ppn and repeat must be at least 1");
    EXPECT_EQ(refused({{0, 4, 1, 1}}),
              "task map: block 0 [0,4,1,1] ends at node 3, but the host list has 3 nodes");
    EXPECT_EQ(remedy({{0, 4, 1, 1}}), "number the nodes from 0 in the order of the host list");
    // Past 32 bits, and 4 * 2^31 * 2^31, which is 0 in 64 bits.
    EXPECT_EQ(refused({{4294967295, 4294967295, 1, 1}}),
              "task map: block 0 [4294967295,4294967295,1,1] ends at node 8589934589, but the host "
              "list has 3 nodes");
    EXPECT_EQ(refused({{0, 4, 2147483648, 2147483648}}, "n[1-4]"),
              "task map: block 0 [0,4,2147483648,2147483648] makes more than 4194304 tasks");
    EXPECT_EQ(refused({{0, 3, 4294967295, 4294967295}}),
              "task map: block 0 [0,3,4294967295,4294967295] makes more than 4194304 tasks");
    EXPECT_EQ(refused({{0, 3, 2, 4294967295}}),
              "task map: block 0 [0,3,2,4294967295] makes more than 4194304 tasks");
    EXPECT_EQ(remedy({{0, 3, 2, 4294967295}}), "check ppn and repeat");
    EXPECT_EQ(refused({{0, 3, 1, 1}, {0, 1, 4194302, 1}}),
              "task map: block 1 [0,1,4194302,1] makes more than 4194304 tasks");
    EXPECT_EQ(refused({{0, 1, 1, 1}, {2, 1, 1, 1}}), "task map: no task on node 1 (n2)");
    EXPECT_EQ(refused({{0, 2, 1, 1}}), "task map: no task on node 2 (n3)");
    EXPECT_EQ(remedy({{0, 2, 1, 1}}),
              "place at least one task on each host, or leave the host out");
    EXPECT_EQ(message_of(StepLayout::from_task_map(HostList{}, {{0, 1, 1, 1}})),
              "distgpu: task map: block 0 [0,1,1,1] ends at node 0, but the host list has 0 nodes; "
              "number the nodes from 0 in the order of the host list");
}

TEST(Distribute, RefusesCountsThatDoNotFitTheHosts) {
    const auto refused = [](const std::vector<TasksRun>& runs,
                            Distribution distribution = {.kind = Kind::cyclic}) {
        return message_of(StepLayout::distribute(hosts("n[1-3]"), runs, distribution));
    };
    const std::string begin = "distgpu: tasks per node: ";
    const std::string has_3 = " nodes, but the host list has 3; give one count per host";
    EXPECT_EQ(refused({{4, 2}}), begin + "counts for 2" + has_3);
    EXPECT_EQ(refused({{4, 2}, {1, 2}, {1, 5}}), begin + "counts for at least 4" + has_3);
    EXPECT_EQ(refused({}), begin + "counts for 0" + has_3);
    const std::string zero = "; each node needs at least one task";
    EXPECT_EQ(refused({{4, 2}, {0, 1}}), begin + "0 tasks on 1 nodes" + zero);
    EXPECT_EQ(refused({{4, 3}, {1, 0}}), begin + "1 tasks on 0 nodes" + zero);
    EXPECT_EQ(refused({{4194304, 1}, {1, 2}}), begin + "more than 4194304 tasks; check the counts");
    EXPECT_EQ(refused({{4, 3}}, {.kind = Kind::plane, .plane_size = 0}),
              "distgpu: plane size: 0 tasks per round; give at least 1, such as plane=4");
    EXPECT_EQ(message_of(StepLayout::distribute(HostList{}, counts("1"), {})),
              begin + "a host list of 0 nodes; name 1 to 16777216 hosts");
}

TEST(Assignment, RefusesNodesThatDoNotExist) {
    EXPECT_EQ(
        message_of(StepLayout::from_assignment(hosts("n[1-3]"), Nodes{0, 1, 3, 2})),
        "distgpu: task map: task 2 is on node 3, but the host list has 3 nodes; number the nodes "
        "from 0 in the order of the host list");
    EXPECT_NE(message_of(StepLayout::from_assignment(HostList{}, {0})), "");
    EXPECT_NE(
        message_of(StepLayout::from_assignment(hosts("n1"), Nodes(StepLayout::max_tasks + 1))), "");
    EXPECT_EQ(message_of(StepLayout::from_assignment(hosts("n[1-3]"), {})),
              "distgpu: task map: no block; give at least one [nodeid,nnodes,ppn,repeat]");
    EXPECT_EQ(message_of(StepLayout::from_assignment(hosts("n[1-3]"), Nodes{0, 2, 2})),
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
    EXPECT_EQ(message_of(StepLayout::from_components({})),
              "distgpu: heterogeneous step: no component; give at least one");
    const auto large =
        StepLayout::distribute(hosts("n1"), counts("2097153"), {.kind = Kind::block});
    ASSERT_TRUE(large);
    const std::vector<StepLayout> twice = {*large, *large};
    EXPECT_EQ(message_of(StepLayout::from_components(twice)),
              "distgpu: heterogeneous step: 2 nodes and 4194306 tasks or more; use at most "
              "16777216 nodes and 4194304 tasks");
}

using layout_testing::Random;

// Slurm's dealing: a round gives each node its share, full nodes are skipped.
Nodes deal(Nodes left, Distribution distribution) {
    auto a_round = UINT32_MAX;
    if (distribution.kind == Kind::cyclic) a_round = 1;
    if (distribution.kind == Kind::plane) a_round = distribution.plane_size;
    Nodes result;
    const auto total = std::accumulate(left.begin(), left.end(), std::size_t{0});
    while (result.size() < total) {
        for (std::uint32_t n = 0; n < left.size(); ++n) {
            for (std::uint32_t i = 0; i < a_round && left[n] > 0; ++i, --left[n]) {
                result.push_back(n);
            }
        }
    }
    return result;
}

// Tasks of each node, with equal neighbours.
Nodes random_counts(Random& random) {
    Nodes result;
    for (auto left = 1 + random.below(12); left > 0;) {
        const auto same = 1 + random.below(left);
        result.insert(result.end(), same, 1 + random.below(9));
        left -= same;
    }
    return result;
}

TEST(StepLayoutProperty, DistributionsMatchDealingOneByOne) {
    Random random;
    for (int round = 0; round < 1500; ++round) {
        const auto counts = random_counts(random);
        std::vector<TasksRun> runs;
        for (const std::uint32_t count : counts) runs.push_back({count, 1});
        const std::vector<Distribution> kinds = {
            {.kind = Kind::block, .plane_size = 0},
            {.kind = Kind::cyclic, .plane_size = 0},
            {.kind = Kind::plane, .plane_size = 1 + random.below(10)}};
        for (const auto& kind : kinds) {
            const auto layout = StepLayout::distribute(hosts(counts.size()), runs, kind);
            ASSERT_TRUE(layout);
            ASSERT_EQ(difference(*layout, deal(counts, kind)), "") << "round " << round;
        }
    }
}

TEST(StepLayoutProperty, AssignmentsComeBack) {
    Random random;
    for (int round = 0; round < 1500; ++round) {
        const auto node_count = 1 + random.below(8);
        Nodes nodes(node_count);
        std::iota(nodes.begin(), nodes.end(), 0U);
        for (auto more = random.below(40); more > 0; --more) {
            const auto next = (nodes.back() + 1) % node_count;
            nodes.push_back(random.below(2) == 0 ? random.below(node_count) : next);
        }
        if (random.below(2) == 0) std::shuffle(nodes.begin(), nodes.end(), random.engine());
        const auto layout = StepLayout::from_assignment(hosts(node_count), nodes);
        ASSERT_TRUE(layout);
        ASSERT_EQ(difference(*layout, nodes), "") << "round " << round;
    }
}

TEST(StepLayoutProperty, MapsMatchTheirExpansion) {
    Random random;
    for (int round = 0; round < 1500; ++round) {
        const auto node_count = 1 + random.below(9);
        Map map = {{0, node_count, 1 + random.below(2), 1 + random.below(2)}};
        for (auto more = random.below(8); more > 0; --more) {
            const auto node = random.below(node_count);
            map.push_back({node, 1 + random.below(node_count - node), 1 + random.below(3),
                           1 + random.below(3)});
        }
        std::shuffle(map.begin(), map.end(), random.engine());
        const auto layout = StepLayout::from_task_map(hosts(node_count), map);
        ASSERT_TRUE(layout);
        ASSERT_EQ(difference(*layout, expanded(map)), "") << "round " << round;
    }
}

}  // namespace
}  // namespace distgpu
