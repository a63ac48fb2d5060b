// Ranks in another order of the nodes than Slurm's, and the order by switch. Expected ranks are
// worked out by hand.
#include "mapping/layout/node_order.h"

#include "layout_testing.h"
#include "mapping/message_of.h"

#include <algorithm>
#include <numeric>

namespace distgpu::layout_testing {
namespace {

using Order = std::vector<NodeIndex>;

Order order(const Nodes& nodes) {
    Order result;
    for (const std::uint32_t node : nodes) result.push_back(NodeIndex{node});
    return result;
}

StepLayout dealt(const char* tasks, Distribution::Kind kind, std::uint32_t plane = 0) {
    const auto runs = counts(tasks);
    std::size_t nodes = 0;
    for (const TasksRun& run : runs) nodes += run.nodes;
    return *StepLayout::distribute(hosts(nodes), runs, {kind, plane});
}

// The node of each rank.
Nodes by_rank(const StepLayout& layout) {
    Nodes nodes;
    for (std::uint32_t rank = 0; rank < layout.task_count(); ++rank) {
        nodes.push_back(layout.place(GlobalRank{rank}).node.value);
    }
    return nodes;
}

// What every order of the nodes promises, whatever the shape.
void expect_a_numbering(const StepLayout& ordered, const Nodes& nodes) {
    for (std::uint32_t i = 0; i < ordered.task_count(); ++i) {
        const GlobalRank rank{i};
        const auto [node, local] = ordered.place(rank);
        EXPECT_EQ(ordered.rank(node, local), rank);
        EXPECT_EQ(rank_of(ordered, ordered.task(node, local)), rank);
        if (local.value == 0) continue;
        EXPECT_LT(ordered.rank(node, LocalRank{local.value - 1}), rank);
    }
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
        EXPECT_EQ(ordered.node_rank(NodeIndex{nodes[i]}), NodeRank{i});
        if (i == 0) continue;
        // Nodes in the order of their lowest ranks.
        EXPECT_LT(ordered.rank(NodeIndex{nodes[i - 1]}, LocalRank{0}),
                  ordered.rank(NodeIndex{nodes[i]}, LocalRank{0}));
    }
    const auto told = ordered.order();
    EXPECT_EQ(Order(told.begin(), told.end()), order(nodes));
}

TEST(WithOrder, DealsTheRanksAndLeavesTheTasks) {
    using Kind = Distribution::Kind;
    const auto expect_ranks = [](const StepLayout& layout, const Nodes& nodes, const Nodes& ranks) {
        const auto ordered = layout.with_order(order(nodes));
        ASSERT_TRUE(ordered) << message_of(ordered);
        EXPECT_EQ(by_rank(*ordered), ranks);
        EXPECT_EQ(placed(*ordered), placed(layout));
        expect_a_numbering(*ordered, nodes);
    };
    expect_ranks(dealt("2(x3)", Kind::block), {2, 0, 1}, {2, 2, 0, 0, 1, 1});
    expect_ranks(dealt("3,1,2", Kind::block), {2, 0, 1}, {2, 2, 0, 0, 0, 1});
    expect_ranks(dealt("2(x3)", Kind::cyclic), {2, 0, 1}, {2, 0, 1, 2, 0, 1});
    expect_ranks(dealt("1,2,1", Kind::cyclic), {2, 1, 0}, {2, 1, 0, 1});
    expect_ranks(dealt("4(x2)", Kind::plane, 2), {1, 0}, {1, 1, 0, 0, 1, 1, 0, 0});
    expect_ranks(dealt("2(x2)", Kind::block), {0, 1}, {0, 0, 1, 1});
    expect_ranks(dealt("3", Kind::block), {0}, {0, 0, 0});
    // As Slurm 26.05 deals in the order of switches: task 0 is on node 1.
    expect_ranks(*StepLayout::from_assignment(hosts(3), Nodes{1, 1, 2, 0, 0}), {0, 2, 1},
                 {0, 0, 2, 1, 1});
    expect_ranks(*StepLayout::from_assignment(hosts(2), Nodes{1, 0, 0, 1}), {0, 1}, {0, 1, 1, 0});
}

// In blocks of any size, and in turns, with as many tasks on each node.
TEST(WithOrder, NumbersEachTaskOnceInRandomShapes) {
    Random random;
    for (int round = 0; round < 400; ++round) {
        SCOPED_TRACE(round);
        Nodes nodes(1 + random.below(9));
        std::iota(nodes.begin(), nodes.end(), 0U);
        std::shuffle(nodes.begin(), nodes.end(), random.engine());
        const bool in_blocks = random.below(2) == 0;
        const std::uint32_t of_each = 1 + random.below(4);
        Nodes node_of_task;
        for (const std::uint32_t node : nodes) {
            node_of_task.insert(node_of_task.end(), in_blocks ? 1 + random.below(4) : of_each,
                                node);
        }
        if (!in_blocks) std::shuffle(node_of_task.begin(), node_of_task.end(), random.engine());
        std::shuffle(nodes.begin(), nodes.end(), random.engine());
        const auto layout = StepLayout::from_assignment(hosts(nodes.size()), node_of_task);
        ASSERT_TRUE(layout);
        const auto ordered = layout->with_order(order(nodes));
        ASSERT_TRUE(ordered) << message_of(ordered);
        EXPECT_EQ(placed(*ordered), node_of_task);
        expect_a_numbering(*ordered, nodes);
    }
}

TEST(WithOrder, RefusesTurnsOnNodesThatDiffer) {
    const StepLayout layout = dealt("3,1,2", Distribution::Kind::cyclic);
    EXPECT_EQ(message_of(layout.with_order(order({1, 0, 2}))),
              "distgpu: order: the tasks are not in blocks, and the nodes have 1 to 3 of them; "
              "use srun -m block, or the same --ntasks-per-node on all nodes");
}

TEST(WithOrder, WithoutOneTheRanksAreTheTaskIds) {
    const StepLayout layout = dealt("3,1,2", Distribution::Kind::cyclic);
    EXPECT_TRUE(layout.order().empty());
    EXPECT_EQ(by_rank(layout), placed(layout));
    EXPECT_EQ(layout.node_rank(NodeIndex{2}), NodeRank{2});
}

TEST(WithOrder, IsPartOfWhatALayoutIs) {
    const StepLayout layout = dealt("1(x2)", Distribution::Kind::block);
    EXPECT_NE(*layout.with_order(order({1, 0})), layout);
    EXPECT_NE(*layout.with_order(order({1, 0})), *layout.with_order(order({0, 1})));
    EXPECT_EQ(*layout.with_order(order({1, 0})), *layout.with_order(order({1, 0})));
}

TEST(OrderOf, ReadsTheNodesInTheListsOrder) {
    EXPECT_EQ(*order_from_list("order=./f", hosts("n[1-4]"), hosts("n[3-4],n1,n2")),
              order({2, 3, 0, 1}));
}

TEST(OrderOf, RefusesAListThatIsNotTheSteps) {
    const std::string remedy = "; name each node of the step once: n[1-3]";
    const std::vector<std::pair<const char*, std::string>> rows = {
        {"n[1-2]", "does not name n3"},
        {"n[1-3],n1", "names n1 twice"},
        {"n[1-2],n4", "names n4, which is not a node of the step"},
        {"n[1-2],n03", "names n03, which is not a node of the step"},
    };
    for (const auto& [list, problem] : rows) {
        EXPECT_EQ(message_of(order_from_list("order=./f", hosts("n[1-3]"), hosts(list))),
                  "distgpu: order=./f: " + problem + remedy);
    }
}

constexpr const char* two_leaves =
    "SwitchName=s1 Level=0 LinkSpeed=1 Nodes=node[01,03]\n"
    "SwitchName=s2 Level=0 LinkSpeed=1 Nodes=node[02,04]\n"
    "SwitchName=top Level=1 LinkSpeed=1 Nodes=node[01-04] Switches=s1,s2\n";

// Racks of two, and rows of two racks; named so that neither follows the other.
constexpr const char* rows_of_racks =
    "SwitchName=core Level=2 LinkSpeed=1 Nodes=n[1-8] Switches=row[1-2]\n"
    "SwitchName=row1 Level=1 LinkSpeed=1 Nodes=n[1,3,5,7] Switches=rack[1-2]\n"
    "SwitchName=row2 Level=1 LinkSpeed=1 Nodes=n[2,4,6,8] Switches=rack[3-4]\n"
    "SwitchName=rack1 Level=0 LinkSpeed=1 Nodes=n[1,5]\n"
    "SwitchName=rack2 Level=0 LinkSpeed=1 Nodes=n[3,7]\n"
    "SwitchName=rack3 Level=0 LinkSpeed=1 Nodes=n[2,8]\n"
    "SwitchName=rack4 Level=0 LinkSpeed=1 Nodes=n[4,6]\n";

// 23.11 writes neither sizes nor what blocks make together.
constexpr const char* plain_blocks =
    "BlockName=b1 BlockIndex=0 Nodes=n[1,4]\n"
    "BlockName=b2 BlockIndex=1 Nodes=n[2-3]\n";

constexpr const char* blocks_of_blocks =
    "BlockName=b1 BlockIndex=0 Nodes=n[1,5] BlockSize=2\n"
    "BlockName=b2 BlockIndex=1 Nodes=n[2,6] BlockSize=2\n"
    "BlockName=b3 BlockIndex=2 Nodes=n[3,7] BlockSize=2\n"
    "BlockName=b4 BlockIndex=3 Nodes=n[4,8] BlockSize=2\n"
    "AggregatedBlock=b[1,3] BlockIndex=4 Nodes=n[1,3,5,7] BlockSize=4\n"
    "AggregatedBlock=b[2,4] BlockIndex=5 Nodes=n[2,4,6,8] BlockSize=4\n";

std::vector<SwitchPath> paths_of(const char* nodes, const char* topology) {
    return switches_above(hosts(std::string(nodes)), read_switches(topology));
}

Nodes ordered(const char* nodes, const char* topology) {
    Nodes order;
    for (const NodeIndex node : order_by_switch(paths_of(nodes, topology))) {
        order.push_back(node.value);
    }
    return order;
}

TEST(OrderBySwitch, PutsTheNodesOfASwitchSideBySideOnEveryLevel) {
    EXPECT_EQ(ordered("node[01-04]", two_leaves), (Nodes{0, 2, 1, 3}));
    // The step has not all nodes, and its first one is on the second switch.
    EXPECT_EQ(ordered("node[02-04]", two_leaves), (Nodes{0, 2, 1}));
    // n1 n5, n3 n7, then the other row: n2 n8, n4 n6.
    EXPECT_EQ(ordered("n[1-8]", rows_of_racks), (Nodes{0, 4, 2, 6, 1, 7, 3, 5}));
    EXPECT_EQ(ordered("n[1-4]", plain_blocks), (Nodes{0, 3, 1, 2}));
    EXPECT_EQ(ordered("n[1-8]", blocks_of_blocks), (Nodes{0, 4, 2, 6, 1, 5, 3, 7}));
}

// Slurm takes full blocks together, and of three the last one stays alone.
TEST(OrderBySwitch, TakesIncompleteBlocks) {
    constexpr const char* three_blocks =
        "BlockName=b1 BlockIndex=0 Nodes=n[1,4] BlockSize=2\n"
        "BlockName=b2 BlockIndex=1 Nodes=n[2,6] BlockSize=2\n"
        "BlockName=b3 BlockIndex=2 Nodes=n3 BlockSize=2\n"
        "AggregatedBlock=b[1-2] BlockIndex=3 Nodes=n[1-2,4,6] BlockSize=4\n"
        "AggregatedBlock=b3 BlockIndex=4 Nodes=n3 BlockSize=4\n";
    EXPECT_EQ(ordered("n[1-6]", three_blocks), (Nodes{0, 3, 1, 5, 2, 4}));
}

TEST(OrderBySwitch, LeavesNodesWithoutASwitchInTheirPlaces) {
    EXPECT_EQ(ordered("node[00-04]", two_leaves), (Nodes{0, 1, 3, 2, 4}));
    EXPECT_EQ(ordered("x[1-3]", two_leaves), (Nodes{0, 1, 2}));
    EXPECT_EQ(ordered("x[1-3]", "No topology information available\n"), (Nodes{0, 1, 2}));
}

TEST(RingCrossings, CountTheWayBackToo) {
    const auto paths = paths_of("node[01-04]", two_leaves);
    const auto crossings = [&](const Nodes& order) {
        std::vector<NodeIndex> nodes;
        for (const std::uint32_t node : order) nodes.push_back(NodeIndex{node});
        return ring_crossings(paths, nodes);
    };
    EXPECT_EQ(crossings({0, 1, 2, 3}), 4U);
    EXPECT_EQ(crossings({0, 2, 1, 3}), 2U);
    EXPECT_EQ(crossings({0, 2}), 0U);
    EXPECT_EQ(crossings({0, 1}), 2U);
    EXPECT_EQ(crossings({1}), 0U);
}

TEST(ReadSwitches, SkipsWhatIsNone) {
    for (const char* const line :
         {"", "SwitchName=s1 Level=0 Nodes=n[1-", "SwitchName=s1 Level=0", "Nodes=n1",
          "SwitchName= Nodes=n1", "RingName=r1 Nodes=n1", "SwitchName=s1 Nodes=n[1-99999999]",
          "AggregatedBlock=b1 BlockIndex=0"}) {
        EXPECT_TRUE(read_switches(line).empty()) << line;
    }
}

// slurm.conf takes any text for a switch's name.
TEST(ReadSwitches, TakesNamesThatNoHostHas) {
    EXPECT_EQ(ordered("n[1-4]",
                      "SwitchName=leaf/1 Level=0 LinkSpeed=1 Nodes=n[1,3]\n"
                      "SwitchName=leaf two Level=0 LinkSpeed=1 Nodes=n[2,4]\n"),
              (Nodes{0, 2, 1, 3}));
}

}  // namespace
}  // namespace distgpu::layout_testing
