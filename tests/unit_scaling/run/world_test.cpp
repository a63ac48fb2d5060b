#include "run/world.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace distgpu::scaling {
namespace {

using Ranks = std::vector<std::uint32_t>;

// Distributed cyclically over two nodes, with one more on the second.
const std::vector<Peer> cyclic{
    {"b", 0}, {"a", 0, "s1.s4"}, {"b", 1}, {"a", 1, "s1.s4"}, {"a", 2, "s1.s4"}};

TEST(World, NodesAreOrderedByTheirFirstRanksAndThoseOfAGroupAscend) {
    const World world = world_of(cyclic);
    ASSERT_EQ(world.nodes.size(), 2U);
    EXPECT_EQ(world.nodes[0], (Node{"b", 2, {}, {}}));
    EXPECT_EQ(world.nodes[1], (Node{"a", 3, {}, {}, "s1.s4"}));
    EXPECT_EQ(world.node_of_rank, (Ranks{0, 1, 0, 1, 1}));
    EXPECT_EQ(ranks_of(world, {Group::Kind::nodes, {1}, 3, 1}), (Ranks{1, 3, 4}));
    EXPECT_EQ(ranks_of(world, {Group::Kind::rail, {0, 1}, 2, 1}), (Ranks{2, 3}));
    EXPECT_EQ(ranks_of(world, {Group::Kind::gpus, {0}, 1, 1}), (Ranks{0}));
}

// NCCL's own variable takes precedence if it leaves no choice. distgpu sets it to all ports of the
// compute network, and UCX's variable to the port near the GPU. There is no guessing: mlx5_1 is
// also a prefix of mlx5_10; "all" and eth0 are not ports of an HCA.
TEST(PortOfRank, OnlyASinglePortIsUsed) {
    struct Row {
        const char* nccl;
        const char* ucx;
        const char* port;
    };
    for (const auto& [nccl, ucx, port] : {Row{"", "mlx5_3:1", "mlx5_3"},
                                          {"", "mlx5_3:2", "mlx5_3:2"},
                                          {"=mlx5_3:1", "", "mlx5_3"},
                                          {"=mlx5_1:1", "mlx5_3:1", "mlx5_1"},
                                          {"=mlx5_1:1,mlx5_3:1", "mlx5_3:1", "mlx5_3"},
                                          {"mlx5_1:1", "", ""},
                                          {"^mlx5_1:1", "", ""},
                                          {"^=mlx5_1:1", "", ""},
                                          {"=mlx5", "", ""},
                                          {"", "all", ""},
                                          {"", "eth0", ""},
                                          {"", "mlx5_0:1,mlx5_1:1", ""}}) {
        EXPECT_EQ(port_of_rank({{"NCCL_IB_HCA", nccl}, {"UCX_NET_DEVICES", ucx}}), port)
            << nccl << ' ' << ucx;
    }
    EXPECT_EQ(port_of_rank({}), "");
}

// Ranks 0 and 2 are on "a", with local ranks in the other order; rank 1 is on "b".
World two_nodes() {
    return world_of({{"a", 1}, {"b", 0}, {"a", 0}});
}

TEST(AddDevices, AreSortedByLocalRank) {
    World world = two_nodes();
    EXPECT_FALSE(
        add_devices(world, {devices_text("H100 \"1\"", "mlx5_1", ""), devices_text("", "", ""),
                            devices_text("H100 0", "mlx5_0", "GPU 0000:3b:00.0: gone\x1b")}));
    EXPECT_EQ(world.nodes[0], (Node{"a",
                                    2,
                                    {"H100 0", "H100 \"1\""},
                                    {"mlx5_0", "mlx5_1"},
                                    "",
                                    "GPU 0000:3b:00.0: gone?"}));
    EXPECT_EQ(world.nodes[1], (Node{"b", 1, {}, {}}));
}

TEST(AddDevices, MissingOnesStayEmpty) {
    World world = two_nodes();
    EXPECT_FALSE(add_devices(world, {devices_text("", "mlx5_1", ""), devices_text("", "", ""),
                                     devices_text("", "", "")}));
    EXPECT_EQ(world.nodes[0], (Node{"a", 2, {}, {"", "mlx5_1"}}));
    EXPECT_FALSE(add_devices(world, {}));  // as on ranks other than 0
    EXPECT_EQ(world.nodes[0].ranks, 2U);
}

TEST(AddDevices, AMalformedTextNamesItsRank) {
    World world = two_nodes();
    const auto error = add_devices(world, {devices_text("", "", ""), "[\"H100\",7]", "{"});
    ASSERT_TRUE(error);
    EXPECT_EQ(error->message(), "distgpu: rank 1 on b: sent a malformed answer: not a JSON object");
}

TEST(RecordedEnvironment, UsesAnAllowList) {
    const std::array<const char*, 7> environment{"NCCL_DEBUG=INFO",
                                                 "AWS_SECRET_ACCESS_KEY=x",
                                                 "CUDA_VISIBLE_DEVICES=0,1",
                                                 "OMPI_MCA_btl=self,tcp",
                                                 "OMPI_MCA_orte_hnp_uri=y",
                                                 "MY_NCCL_DEBUG=z",
                                                 nullptr};
    EXPECT_EQ(recorded_environment(environment.data()),
              (NamedValues{{"CUDA_VISIBLE_DEVICES", "0,1"},
                           {"NCCL_DEBUG", "INFO"},
                           {"OMPI_MCA_btl", "self,tcp"}}));
}

}  // namespace
}  // namespace distgpu::scaling
