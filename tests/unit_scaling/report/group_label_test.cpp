#include "report/group_label.h"

#include <gtest/gtest.h>

namespace distgpu::scaling {
namespace {

Results three_nodes() {
    Results results;
    results.backend = "nccl";
    results.nodes = {{"n1", 2, {}, {"mlx5_0", "mlx5_1"}},
                     {"n2", 2, {}, {"mlx5_0", "mlx5_9"}},
                     {"n3", 2, {}, {"mlx5_0", "mlx5_1"}}};
    return results;
}

TEST(GroupLabel, SaysWhoIsInIt) {
    const Results results = three_nodes();
    EXPECT_EQ(group_label(results, {Group::Kind::nodes, {0, 1, 2}, 6, 3}), "3 nodes");
    EXPECT_EQ(group_label(results, {Group::Kind::nodes, {0}, 2, 1}), "1 node");
    EXPECT_EQ(group_label(results, {Group::Kind::gpus, {2}, 2, 2}), "2 GPUs of n3");
    EXPECT_EQ(group_label(results, {Group::Kind::pair, {2, 0}, 4, 0}), "n3 - n1");
    EXPECT_EQ(group_label(results, {Group::Kind::without, {0, 2}, 4, 1}), "without n2");
}

TEST(GroupLabel, HostMemoryHasRanksInsteadOfGpus) {
    Results results = three_nodes();
    results.backend = "mpi";
    EXPECT_EQ(group_label(results, {Group::Kind::gpus, {0}, 2, 2}), "2 ranks of n1");
}

TEST(GroupLabel, ARailHasItsPortsNameWhereAllNodesAgree) {
    Results results = three_nodes();
    EXPECT_EQ(group_label(results, {Group::Kind::rail, {0, 1, 2}, 3, 0}), "rail 0 (mlx5_0)");
    EXPECT_EQ(group_label(results, {Group::Kind::rail, {0, 1, 2}, 3, 1}), "rail 1");
    results.nodes[1].rails.clear();
    EXPECT_EQ(group_label(results, {Group::Kind::rail, {0, 1, 2}, 3, 0}), "rail 0");
}

TEST(IsScalingGroup, GpusAndNodesOnly) {
    EXPECT_TRUE(is_scaling_group({Group::Kind::gpus, {}, 0, 0}));
    EXPECT_TRUE(is_scaling_group({Group::Kind::nodes, {}, 0, 0}));
    EXPECT_FALSE(is_scaling_group({Group::Kind::pair, {}, 0, 0}));
    EXPECT_FALSE(is_scaling_group({Group::Kind::without, {}, 0, 0}));
    EXPECT_FALSE(is_scaling_group({Group::Kind::rail, {}, 0, 0}));
}

}  // namespace
}  // namespace distgpu::scaling
