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

TEST(OperationName, HasCollectiveTypeSizeAndPlacement) {
    EXPECT_EQ(operation_name({Collective::all_reduce, DataType::f32, true, 64U << 20U}),
              "all-reduce float, 64 MiB, in place");
    EXPECT_EQ(operation_name({Collective::broadcast, DataType::f16, false, 8}),
              "broadcast half, 8 B");
}

TEST(GroupLabel, NamesNodesAndGpusOrRanksInHostMemory) {
    Results results = three_nodes();
    EXPECT_EQ(group_label(results, {Group::Kind::nodes, {0, 1, 2}, 6, 3}), "3 nodes");
    EXPECT_EQ(group_label(results, {Group::Kind::nodes, {0}, 2, 1}), "1 node");
    EXPECT_EQ(group_label(results, {Group::Kind::node, {1}, 2, 0}), "n2");
    EXPECT_EQ(group_label(results, {Group::Kind::gpus, {2}, 2, 2}), "2 GPUs of n3");
    EXPECT_EQ(group_label(results, {Group::Kind::pair, {2, 0}, 4, 0}), "n3 - n1");
    results.backend = "mpi";
    EXPECT_EQ(group_label(results, {Group::Kind::gpus, {0}, 2, 2}), "2 ranks of n1");
}

TEST(GroupLabel, ARailHasItsPortIfAllNodesAgree) {
    Results results = three_nodes();
    EXPECT_EQ(group_label(results, {Group::Kind::rail, {0, 1, 2}, 3, 0}), "rail 0 (mlx5_0)");
    EXPECT_EQ(group_label(results, {Group::Kind::rail, {0, 1, 2}, 3, 1}), "rail 1");
    EXPECT_EQ(group_label(results, {Group::Kind::pair_rail, {0, 2}, 2, 1}), "n1 - n3, rail 1");
    results.nodes[1].rails.clear();
    EXPECT_EQ(group_label(results, {Group::Kind::rail, {0, 1, 2}, 3, 0}), "rail 0");
}

TEST(LimiterName, OfEachKind) {
    using Kind = Limiter::Kind;
    Results results = three_nodes();
    results.nodes[1].switches = "s1.s4";
    const auto name = [&](const Limiter& limiter) { return limiter_name(results, limiter); };
    EXPECT_EQ(name({.kind = Kind::node, .node = 1}), "n2");
    EXPECT_EQ(name({.kind = Kind::node_rail, .node = 1, .local_rank = 1}), "n2/mlx5_9");
    EXPECT_EQ(name({.kind = Kind::leaf, .node = 1}), "leaf s4");
    EXPECT_EQ(name({.kind = Kind::uplink, .node = 1}), "uplink of s4");
    EXPECT_EQ(name({.kind = Kind::spine}), "spine");
    EXPECT_EQ(name({.kind = Kind::paths}), "paths");
    EXPECT_EQ(name({.node = 2, .is_intermittent = true}), "n3 (intermittent)");
    EXPECT_EQ(name({.kind = Kind::rail, .local_rank = 0}), "rail mlx5_0");
    EXPECT_EQ(name({.kind = Kind::rail, .local_rank = 1}), "rail 1") << "ports differ in name";
    for (Node& node : results.nodes) node.rails.clear();
    EXPECT_EQ(name({.kind = Kind::node_rail, .node = 2, .local_rank = 1}), "n3/rail 1");
    EXPECT_EQ(name({.kind = Kind::rail, .local_rank = 1}), "rail 1");
}

TEST(FormatBytes, TheUnitIsAPowerOf1024AndFractionsHaveTwoDecimalsAtMost) {
    EXPECT_EQ(format_bytes(8), "8 B");
    EXPECT_EQ(format_bytes(1023), "1023 B");
    EXPECT_EQ(format_bytes(1024), "1 KiB");
    EXPECT_EQ(format_bytes(64ULL << 20U), "64 MiB");
    EXPECT_EQ(format_bytes(16ULL << 30U), "16 GiB");
    EXPECT_EQ(format_bytes(1ULL << 50U), "1024 TiB");  // the last unit
    EXPECT_EQ(format_bytes(1536), "1.5 KiB");
    EXPECT_EQ(format_bytes(1000000), "976.56 KiB");  // 1e6 / 1024 = 976.5625
}

TEST(FormatBandwidth, GigabytesAndPercentAreDecimal) {
    EXPECT_EQ(format_bandwidth(480e9), "480.00");
    EXPECT_EQ(format_bandwidth(std::nullopt), "n/a");
    EXPECT_EQ(format_percent(0.9259), "92.6 %");
}

}  // namespace
}  // namespace distgpu::scaling
