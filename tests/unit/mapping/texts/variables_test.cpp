// What a task began with, as it is written into its environment and read back.
#include "mapping/texts/variables.h"

#include "mapping/plan/bound_node.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

TEST(BoundRecord, IsReadAsItWasWritten) {
    const NodeTopology topology = two_socket_node({0, 2});
    const NodeFacts facts = plan_testing::bound_node(topology, plan_testing::everywhere(2), {0, 1});
    const std::vector<BoundVariable> variables{{"CUDA_VISIBLE_DEVICES", "1,0", true},
                                               {"NCCL_IB_HCA", "=mlx5_0:1", false},
                                               {"UCX_NET_DEVICES", "", false}};
    const std::string text = bound_record_text(CpuSet{0, 1, 8}, facts, variables);
    EXPECT_EQ(text, "v2 cpus=0-1,8 gpus=0@" + topology.gpus[0].pci + ",1@" + topology.gpus[1].pci +
                        " given.CUDA_VISIBLE_DEVICES=1,0 kept.NCCL_IB_HCA==mlx5_0:1 "
                        "kept.UCX_NET_DEVICES=");
    const BoundRecord expected{
        CpuSet{0, 1, 8}, {{"0", topology.gpus[0].pci}, {"1", topology.gpus[1].pci}}, variables};
    EXPECT_EQ(read_bound_record(text), expected);
}

TEST(BoundRecord, LeavesOutWhatIsNotKnown) {
    const NodeTopology topology = two_socket_node({0, 2});
    NodeFacts facts = plan_testing::bound_node(topology, plan_testing::everywhere(2), {0, 1});
    EXPECT_EQ(bound_record_text(CpuSet{3}, NodeFacts{}, {}), "v2 cpus=3");
    EXPECT_EQ(bound_record_text({}, NodeFacts{}, {}), "v2");
    // Slurm's numbers were not understood.
    facts.gpu_names.names.clear();
    EXPECT_EQ(bound_record_text(CpuSet{3}, facts, {}), "v2 cpus=3");
}

// That a variable was set is known, but not to what.
TEST(BoundRecord, LeavesOutValuesThatAreLongOrNoWord) {
    for (const std::string& value :
         {std::string(1025, '0'), std::string("0 1"), std::string("\n")}) {
        const std::string text =
            bound_record_text({}, NodeFacts{}, std::vector<BoundVariable>{{"NCCL_IB_HCA", value}});
        EXPECT_EQ(text, "v2 kept.NCCL_IB_HCA");
        EXPECT_EQ(*read_bound_record(text).variables,
                  (std::vector<BoundVariable>{{"NCCL_IB_HCA", std::nullopt}}));
    }
}

// A record of version 1 says nothing about variables, one of version 2 that none was set.
TEST(BoundRecord, HasAVersion) {
    EXPECT_EQ(read_bound_record("cpus=3").variables, std::nullopt);
    EXPECT_EQ(read_bound_record("cpus=3 given.CUDA_VISIBLE_DEVICES=0").variables, std::nullopt);
    EXPECT_EQ(read_bound_record("v2 cpus=3").variables, std::vector<BoundVariable>{});
    EXPECT_EQ(read_bound_record("v2 later=x cpus=3").cpus, CpuSet{3});
}

TEST(BoundRecord, OfAForgedTextHasNothing) {
    for (const char* const text : {"", "cpus=", "cpus=3-1", "cpus=99999999", "gpus=0", "gpus=0@",
                                   "gpus=0@../../self/environ", "gpus=0@0000:06:00.0/..",
                                   "gpus=0@..", "gpus=0@0000:06..0", "CPUS=3", "cpus=1;2"}) {
        EXPECT_EQ(read_bound_record(text), BoundRecord{}) << text;
    }
    EXPECT_EQ(*read_bound_record("v2 given.PATH=/x kept. given.NCCL_IB_HCA=a kept.NCCL_IB_HCA=b")
                   .variables,
              (std::vector<BoundVariable>{{"NCCL_IB_HCA", "a", true}}));
    EXPECT_EQ(read_bound_record("x=1  gpus=a,0@1:2 cpus=4").gpus,
              (std::vector<BoundGpu>{{"0", "1:2"}}));
    std::string many = "gpus=";
    for (int i = 0; i < 1000; ++i) many += "0@1:2,";
    EXPECT_EQ(read_bound_record(many).gpus.size(), 256U);
}

}  // namespace
}  // namespace distgpu
