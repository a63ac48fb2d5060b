#include "report/names.h"

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

TEST(OperationName, LeavesOutWhatIsNotAsked) {
    EXPECT_EQ(operation_name({Collective::all_reduce, DataType::f32, true, 64U << 20U}),
              "all-reduce float, 64 MiB, in place");
    EXPECT_EQ(operation_name({Collective::broadcast, DataType::f32, false, 8}, true),
              "broadcast, 8 B");
    EXPECT_EQ(operation_name({Collective::reduce, DataType::f16, false, 8, Op::max}),
              "reduce max half, 8 B");
}

TEST(GroupLabel, SaysWhoIsInIt) {
    const Results results = three_nodes();
    EXPECT_EQ(group_label(results, {Group::Kind::nodes, {0, 1, 2}, 6, 3}), "3 nodes");
    EXPECT_EQ(group_label(results, {Group::Kind::nodes, {0}, 2, 1}), "1 node");
    EXPECT_EQ(group_label(results, {Group::Kind::node, {1}, 2, 0}), "n2");
    EXPECT_EQ(group_label(results, {Group::Kind::gpus, {2}, 2, 2}), "2 GPUs of n3");
    EXPECT_EQ(group_label(results, {Group::Kind::pair, {2, 0}, 4, 0}), "n3 - n1");
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
    EXPECT_EQ(group_label(results, {Group::Kind::pair_rail, {0, 2}, 2, 1}), "n1 - n3, rail 1");
    results.nodes[1].rails.clear();
    EXPECT_EQ(group_label(results, {Group::Kind::rail, {0, 1, 2}, 3, 0}), "rail 0");
}

TEST(LimiterName, APortIsNamedWithItsNode) {
    const Results results = three_nodes();
    EXPECT_EQ(limiter_name(results, {.kind = Limiter::Kind::node, .node = 1}), "n2");
    EXPECT_EQ(limiter_name(results, {.kind = Limiter::Kind::node_rail, .node = 1, .local_rank = 1}),
              "n2/mlx5_9");
}

TEST(LimiterName, SwitchesAndWhatComesAndGoes) {
    Results results = three_nodes();
    results.nodes[1].switches = "s1.s4";
    EXPECT_EQ(limiter_name(results, {.kind = Limiter::Kind::leaf, .node = 1}), "leaf s4");
    EXPECT_EQ(limiter_name(results, {.kind = Limiter::Kind::uplink, .node = 1}), "uplink of s4");
    EXPECT_EQ(limiter_name(results, {.kind = Limiter::Kind::spine}), "spine");
    EXPECT_EQ(limiter_name(results, {.kind = Limiter::Kind::paths}), "paths");
    EXPECT_EQ(limiter_name(results, {.node = 2, .intermittent = true}), "n3 (intermittent)");
}

TEST(LimiterName, NumbersAPortWithoutAName) {
    Results results = three_nodes();
    for (Node& node : results.nodes) node.rails.clear();
    EXPECT_EQ(limiter_name(results, {.kind = Limiter::Kind::node_rail, .node = 2, .local_rank = 1}),
              "n3/rail 1");
    EXPECT_EQ(limiter_name(results, {.kind = Limiter::Kind::rail, .local_rank = 1}), "rail 1");
}

TEST(LimiterName, NumbersARailWhosePortsDifferInName) {
    const Results results = three_nodes();
    EXPECT_EQ(limiter_name(results, {.kind = Limiter::Kind::rail, .local_rank = 1}), "rail 1");
    EXPECT_EQ(limiter_name(results, {.kind = Limiter::Kind::rail, .local_rank = 0}), "rail mlx5_0");
}

}  // namespace
}  // namespace distgpu::scaling
