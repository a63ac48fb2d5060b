// What a task began with, as it is written into its environment and read back.
#include "mapping/texts/variables.h"

#include "mapping/plan/bound_node.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

TEST(BoundRecord, IsReadAsItWasWritten) {
    const NodeTopology topology = two_socket_node({0, 2});
    const NodeFacts facts = plan_testing::bound_node(topology, plan_testing::everywhere(2), {0, 1});
    const std::string text = bound_record_text(CpuSet{0, 1, 8}, facts);
    EXPECT_EQ(text, "cpus=0-1,8 gpus=0@" + topology.gpus[0].pci + ",1@" + topology.gpus[1].pci);
    const BoundRecord expected{CpuSet{0, 1, 8},
                               {{"0", topology.gpus[0].pci}, {"1", topology.gpus[1].pci}}};
    EXPECT_EQ(read_bound_record(text), expected);
}

TEST(BoundRecord, LeavesOutWhatIsNotKnown) {
    const NodeTopology topology = two_socket_node({0, 2});
    NodeFacts facts = plan_testing::bound_node(topology, plan_testing::everywhere(2), {0, 1});
    EXPECT_EQ(bound_record_text(CpuSet{3}, NodeFacts{}), "cpus=3");
    EXPECT_EQ(bound_record_text({}, NodeFacts{}), "");
    // Slurm's numbers were not understood.
    facts.gpu_names.names.clear();
    EXPECT_EQ(bound_record_text(CpuSet{3}, facts), "cpus=3");
}

TEST(BoundRecord, OfAForgedTextHasNothing) {
    for (const char* const text : {"", "cpus=", "cpus=3-1", "cpus=99999999", "gpus=0", "gpus=0@",
                                   "gpus=0@../../self/environ", "gpus=0@0000:06:00.0/..",
                                   "gpus=0@..", "gpus=0@0000:06..0", "CPUS=3", "cpus=1;2"}) {
        EXPECT_EQ(read_bound_record(text), BoundRecord{}) << text;
    }
    EXPECT_EQ(read_bound_record("x=1  gpus=a,0@1:2 cpus=4").gpus,
              (std::vector<BoundGpu>{{"0", "1:2"}}));
    std::string many = "gpus=";
    for (int i = 0; i < 1000; ++i) many += "0@1:2,";
    EXPECT_EQ(read_bound_record(many).gpus.size(), 256U);
}

}  // namespace
}  // namespace distgpu
