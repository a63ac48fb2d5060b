#include "bootstrap/membership.h"

#include "base/environment_copy.h"

#include <gtest/gtest.h>

namespace distgpu::scaling {
namespace {

using Values = std::map<std::string, std::string>;

const Values under_srun{{"RANK", "5"},
                        {"WORLD_SIZE", "8"},
                        {"LOCAL_RANK", "1"},
                        {"MASTER_ADDR", "node01"},
                        {"MASTER_PORT", "25008"},
                        {"SLURM_JOB_ID", "17"},
                        {"SLURM_STEP_ID", "2"},
                        {"SLURMD_NODENAME", "node03"}};
const Values under_mpirun{{"OMPI_COMM_WORLD_RANK", "3"},
                          {"OMPI_COMM_WORLD_SIZE", "4"},
                          {"OMPI_COMM_WORLD_LOCAL_RANK", "3"},
                          {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}};

Error refusal(Values values, const std::string& name, const std::string& value) {
    values[name] = value;
    return read_membership(EnvironmentCopy(values), "host").error();
}

// The port is the last of MASTER_PORT's slot of 16.
TEST(Membership, UnderSrun) {
    EXPECT_EQ(*read_membership(EnvironmentCopy(under_srun), "host"),
              (Membership{5, 8, 1, "node03", "node01", 25023, "17.2"}));
}

TEST(Membership, SlurmsTopologyTellsTheSwitches) {
    Values values = under_srun;
    values["SLURM_TOPOLOGY_ADDR"] = "s1.s4.node03";
    EXPECT_EQ(read_membership(EnvironmentCopy(values), "host")->switches, "s1.s4");
}

TEST(SwitchesAbove, LeavesOutTheNodeAndWhatNoSwitchIsCalled) {
    EXPECT_EQ(switches_above("s[0-1].s4.node03"), "s[0-1].s4");
    EXPECT_EQ(switches_above("node03"), "");
    EXPECT_EQ(switches_above(""), "");
    EXPECT_EQ(switches_above("s\x1b.node03"), "s?");
    EXPECT_EQ(switches_above(std::string(2000, 's') + ".node03"), "");
}

// torch's own default port, since mpirun gives none.
TEST(Membership, UnderMpirunOnOneNode) {
    EXPECT_EQ(*read_membership(EnvironmentCopy(under_mpirun), "host"),
              (Membership{3, 4, 3, "host", "localhost", 29515, "."}));
}

TEST(Membership, MpirunOverNodesNeedsTheAddress) {
    EXPECT_EQ(refusal(under_mpirun, "OMPI_COMM_WORLD_LOCAL_SIZE", "2"),
              (Error{"MASTER_ADDR", "not set, and mpirun does not say which node runs rank 0",
                     "start it with mpirun -x MASTER_ADDR=HOST"}));
}

TEST(Membership, WithoutALauncherItSaysHowToStart) {
    EXPECT_EQ(
        read_membership(EnvironmentCopy(), "host").error(),
        (Error{"WORLD_SIZE", "not set", "start it with srun --distgpu=pytorch nccl-scaling"}));
}

TEST(Membership, NumbersAreChecked) {
    EXPECT_EQ(refusal(under_srun, "RANK", "8").problem, "not a number below 8");
    EXPECT_EQ(refusal(under_srun, "RANK", "-1").object, "RANK=-1");
    EXPECT_EQ(refusal(under_srun, "LOCAL_RANK", "").object, "LOCAL_RANK=");
    EXPECT_EQ(refusal(under_srun, "WORLD_SIZE", "8x").object, "WORLD_SIZE=8x");
    // 65536 - 15: the port beside it must exist too.
    EXPECT_EQ(refusal(under_srun, "MASTER_PORT", "65521").problem, "not a number below 65521");
}

}  // namespace
}  // namespace distgpu::scaling
