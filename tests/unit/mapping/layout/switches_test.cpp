// The order of nodes by their switches. The texts are those of Slurm 22.05 (run), and of 24.11 and
// 26.05 as topology_tree.c and topology_block.c write them.
#include "mapping/layout/switches.h"

#include "layout_testing.h"

namespace distgpu::layout_testing {
namespace {

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

TEST(OrderBySwitch, PutsTheNodesOfASwitchSideBySide) {
    EXPECT_EQ(ordered("node[01-04]", two_leaves), (Nodes{0, 2, 1, 3}));
}

// The step has not all nodes, and its first one is on the second switch.
TEST(OrderBySwitch, BeginsWithTheStepsFirstNode) {
    EXPECT_EQ(ordered("node[02-04]", two_leaves), (Nodes{0, 2, 1}));
}

TEST(OrderBySwitch, HoldsOnEveryLevel) {
    // n1 n5, n3 n7, then the other row: n2 n8, n4 n6.
    EXPECT_EQ(ordered("n[1-8]", rows_of_racks), (Nodes{0, 4, 2, 6, 1, 7, 3, 5}));
}

TEST(OrderBySwitch, TakesBlocksForSwitches) {
    EXPECT_EQ(ordered("n[1-4]", plain_blocks), (Nodes{0, 3, 1, 2}));
}

TEST(OrderBySwitch, KeepsBlocksTogetherThatSlurmTakesTogether) {
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

TEST(OrderBySwitch, NamesEachNodeOnceInRandomTrees) {
    Random random;
    for (int round = 0; round < 200; ++round) {
        const std::uint32_t nodes = 1 + random.below(12);
        std::vector<SwitchPath> paths(nodes);
        for (SwitchPath& path : paths) {
            for (std::uint32_t level = random.below(4); level > 0; --level) {
                path.push_back(10 * level + random.below(3));
            }
        }
        const auto order = order_by_switch(paths);
        std::vector<bool> named(nodes);
        for (const NodeIndex node : order) {
            ASSERT_FALSE(named.at(node.value));
            named[node.value] = true;
        }
        ASSERT_EQ(order.size(), nodes);
        // Of a switch on any level the nodes stand in one stretch.
        for (std::size_t a = 0; a < nodes; ++a) {
            for (std::size_t b = a + 1; b < nodes; ++b) {
                const SwitchPath& of_a = paths[order[a].value];
                const SwitchPath& of_b = paths[order[b].value];
                std::size_t shared = 0;
                while (shared < of_a.size() && shared < of_b.size() &&
                       of_a[shared] == of_b[shared]) {
                    ++shared;
                }
                for (std::size_t c = a + 1; c < b; ++c) {
                    const SwitchPath& between = paths[order[c].value];
                    ASSERT_GE(between.size(), shared);
                    for (std::size_t i = 0; i < shared; ++i) ASSERT_EQ(between[i], of_a[i]);
                }
            }
        }
    }
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
