#include "run/world.h"

#include "facts/rank_facts.h"
#include "report/names.h"

#include <gtest/gtest.h>

namespace distgpu::scaling {
namespace {

using Ranks = std::vector<std::uint32_t>;
using Texts = std::vector<std::string>;

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

TEST(World, ANodesSwitchesAreThoseOfItsRanks) {
    const World world = world_of({{"a", 0, "s1.s4"}, {"b", 0, "s1.s5"}, {"a", 1, "s1.s4"}});
    EXPECT_EQ(world.nodes.at(0).switches, "s1.s4");
    EXPECT_EQ(world.nodes.at(1).switches, "s1.s5");
    EXPECT_EQ(world_of(cyclic).nodes.at(0).switches, "");
}

TEST(World, AGroupsRanksAscend) {
    const World world = world_of(cyclic);
    EXPECT_EQ(ranks_of(world, {Group::Kind::nodes, {1}, 3, 1}), (Ranks{1, 3, 4}));
    EXPECT_EQ(ranks_of(world, {Group::Kind::rail, {0, 1}, 2, 1}), (Ranks{2, 3}));
    EXPECT_EQ(ranks_of(world, {Group::Kind::gpus, {0}, 1, 1}), (Ranks{0}));
}

TEST(PortOfRank, IsTheOneThatIsNamed) {
    EXPECT_EQ(port_of_rank({{"UCX_NET_DEVICES", "mlx5_3:1"}}), "mlx5_3");
    EXPECT_EQ(port_of_rank({{"UCX_NET_DEVICES", "mlx5_3:2"}}), "mlx5_3:2");
    EXPECT_EQ(port_of_rank({{"NCCL_IB_HCA", "=mlx5_3:1"}}), "mlx5_3");
    EXPECT_EQ(port_of_rank({}), "");
}

// NCCL measures, so that its own variable counts where it leaves no choice. distgpu gives it all
// ports of the compute network, and UCX the one near the GPU.
TEST(PortOfRank, NcclsVariableCountsFirstWhereItNamesOne) {
    EXPECT_EQ(port_of_rank({{"NCCL_IB_HCA", "=mlx5_1:1"}, {"UCX_NET_DEVICES", "mlx5_3:1"}}),
              "mlx5_1");
    EXPECT_EQ(
        port_of_rank({{"NCCL_IB_HCA", "=mlx5_1:1,mlx5_3:1"}, {"UCX_NET_DEVICES", "mlx5_3:1"}}),
        "mlx5_3");
}

// mlx5_1 is the beginning of mlx5_10 too; "all" and eth0 are no port of an HCA.
TEST(PortOfRank, IsNotGuessed) {
    for (const char* const value : {"mlx5_1:1", "^mlx5_1:1", "^=mlx5_1:1", "=mlx5", ""}) {
        EXPECT_EQ(port_of_rank({{"NCCL_IB_HCA", value}}), "") << value;
    }
    for (const char* const value : {"all", "eth0", "mlx5_0:1,mlx5_1:1", ""}) {
        EXPECT_EQ(port_of_rank({{"UCX_NET_DEVICES", value}}), "") << value;
    }
}

// Ranks 0 and 2 are on "a", with local ranks in the other order; rank 1 is on "b".
World two_nodes() {
    return world_of({{"a", 1}, {"b", 0}, {"a", 0}});
}

TEST(AddDevices, StandByLocalRank) {
    World world = two_nodes();
    EXPECT_FALSE(
        add_devices(world, {devices_text("H100 \"1\"", "mlx5_1"), devices_text("H100", "mlx5_0"),
                            devices_text("H100 0", "mlx5_0")}));
    EXPECT_EQ(world.nodes[0].gpus, (Texts{"H100 0", "H100 \"1\""}));
    EXPECT_EQ(world.nodes[0].rails, (Texts{"mlx5_0", "mlx5_1"}));
    EXPECT_EQ(world.nodes[1].rails, Texts{"mlx5_0"});
}

TEST(AddDevices, WhatNoRankHasStaysEmpty) {
    World world = two_nodes();
    EXPECT_FALSE(add_devices(
        world, {devices_text("", "mlx5_1"), devices_text("", ""), devices_text("", "")}));
    EXPECT_TRUE(world.nodes[0].gpus.empty());
    EXPECT_EQ(world.nodes[0].rails, (Texts{"", "mlx5_1"}));
    EXPECT_TRUE(world.nodes[1].rails.empty());
    EXPECT_FALSE(add_devices(world, {}));  // on other ranks than 0
    EXPECT_EQ(world.nodes[0].ranks, 2U);
}

TEST(AddDevices, RefuseAMalformedTextInTheNameOfItsRank) {
    World world = two_nodes();
    const auto error = add_devices(world, {devices_text("", ""), "[\"H100\",7]", "{"});
    ASSERT_TRUE(error);
    EXPECT_EQ(error->message(), "distgpu: rank 1 on b: sent a malformed answer: not a JSON object");
}

// Ranks 0 and 2 share a port.
TEST(AddFacts, StandWithTheirNodesOnceEach) {
    World world = two_nodes();
    const auto text = [](std::vector<std::string> unusual) {
        return text_of(RankFacts{"", "", std::move(unusual), {}});
    };
    add_facts(world, {text({"mlx5_0: its link is down"}), text({"GPU 0: Xid 79"}),
                      text({"GPU 1: Xid 31", "mlx5_0: its link is down"})});
    EXPECT_EQ(world.nodes[0].facts, (Texts{"mlx5_0: its link is down", "GPU 1: Xid 31"}));
    EXPECT_EQ(world.nodes[1].facts, Texts{"GPU 0: Xid 79"});
    add_facts(world, {});  // on other ranks than 0
    EXPECT_EQ(world.nodes[1].facts.size(), 1U);
}

TEST(AddFacts, RatesStandByLocalRankAndBesideThoseOfAllRanks) {
    World world = two_nodes();
    const auto text = [](const char* gpu, double rate) {
        return text_of(RankFacts{gpu, "", {}, {rate}});
    };
    add_facts(world, {text("GPU 1", 1e12), text("GPU 0", 2e12), text("GPU 0", 2e12)});
    EXPECT_EQ(world.nodes[0].rates, (std::vector<Rates>{{2e12}, {1e12}}));
    EXPECT_EQ(world.nodes[0].facts,
              Texts{"GPU 1: copies within its memory at 50% of the median of all ranks, 1.0 TB/s"});
    EXPECT_TRUE(world.nodes[1].facts.empty());
}

// What a rank's variables say is what the last line and the tables say.
TEST(AddDevices, NameLimitersAndRails) {
    World world = world_of({{"node16", 0}, {"node16", 1}, {"node17", 0}, {"node17", 1}});
    const auto text = [](const std::string& port) {
        return devices_text("", port_of_rank({{"UCX_NET_DEVICES", port}}));
    };
    EXPECT_FALSE(add_devices(
        world, {text("mlx5_0:1"), text("mlx5_3:1"), text("mlx5_0:1"), text("mlx5_3:1")}));
    Results results;
    results.nodes = world.nodes;
    EXPECT_EQ(limiter_name(results, {Limiter::Kind::node_rail, 1, 1}), "node17/mlx5_3");
    EXPECT_EQ(group_label(results, {Group::Kind::rail, {0, 1}, 2, 1}), "rail 1 (mlx5_3)");
}

}  // namespace
}  // namespace distgpu::scaling
