// What a task of --distgpu=pytorch gets: the contract of torch's env:// and of
// scripts that were written for torchrun.
#include "mapping/frameworks/registry.h"
#include "task_values.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

TEST(Pytorch, TellsATaskItsPlace) {
    EXPECT_EQ(values(pytorch, sample_task()), (Values{{"MASTER_ADDR", "node01"},
                                                      {"MASTER_PORT", "29500"},
                                                      {"WORLD_SIZE", "8"},
                                                      {"RANK", "6"},
                                                      {"LOCAL_RANK", "2"},
                                                      {"LOCAL_WORLD_SIZE", "4"},
                                                      {"NODE_RANK", "1"},
                                                      {"GROUP_RANK", "1"},
                                                      {"GROUP_WORLD_SIZE", "3"}}));
}

// torch takes the address and the port apart: no brackets.
TEST(Pytorch, Ipv6AddressesStayBare) {
    TaskContext task = sample_task();
    task.master_address = "fd00::1";
    EXPECT_EQ(values(pytorch, task)["MASTER_ADDR"], "fd00::1");
}

TEST(Pytorch, RemovesWhatOuterLaunchersLeft) {
    EXPECT_EQ(unset_patterns(pytorch),
              (std::vector<std::string>{"TORCHELASTIC_*", "PET_*", "OMPI_COMM_WORLD_*"}));
}

TEST(Pytorch, RunsOneProcessATaskInAnyStep) {
    EXPECT_FALSE(pytorch.launcher_per_node);
    EXPECT_EQ(pytorch.ports, 1);
    EXPECT_EQ(pytorch.refuse, nullptr);
}

}  // namespace
}  // namespace distgpu
