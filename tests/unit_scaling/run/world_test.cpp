#include "run/world.h"

#include <gtest/gtest.h>

namespace distgpu::scaling {
namespace {

using Ranks = std::vector<std::uint32_t>;

// Dealt out cyclically over two nodes, and one more on the second.
const std::vector<Peer> cyclic{{"b", 0}, {"a", 0}, {"b", 1}, {"a", 1}, {"a", 2}};

TEST(World, NodesStandInTheOrderOfTheirFirstRanks) {
    const World world = world_of(cyclic);
    ASSERT_EQ(world.nodes.size(), 2U);
    EXPECT_EQ(world.nodes[0].name, "b");
    EXPECT_EQ(world.nodes[0].ranks, 2U);
    EXPECT_EQ(world.nodes[1].ranks, 3U);
    EXPECT_EQ(world.node_of_rank, (Ranks{0, 1, 0, 1, 1}));
}

TEST(World, AGroupsRanksAscend) {
    const World world = world_of(cyclic);
    EXPECT_EQ(ranks_of(world, {Group::Kind::nodes, {1}, 3, 1}), (Ranks{1, 3, 4}));
    EXPECT_EQ(ranks_of(world, {Group::Kind::rail, {0, 1}, 2, 1}), (Ranks{2, 3}));
    EXPECT_EQ(ranks_of(world, {Group::Kind::gpus, {0}, 1, 1}), (Ranks{0}));
}

}  // namespace
}  // namespace distgpu::scaling
