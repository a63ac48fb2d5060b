#include "bootstrap/membership.h"

#include "base/environment.h"

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
    Values values = under_srun;
    values["SLURM_TOPOLOGY_ADDR"] = "s1.s4.node03";
    EXPECT_EQ(read_membership(EnvironmentCopy(values), "host")->switches, "s1.s4");
}

TEST(SwitchesAbove, OmitsTheNodeAndInvalidCharacters) {
    EXPECT_EQ(switches_above("s[0-1].s4.node03"), "s[0-1].s4");
    EXPECT_EQ(switches_above("node03"), "");
    EXPECT_EQ(switches_above(""), "");
    EXPECT_EQ(switches_above("s\x1b.node03"), "s?");
    EXPECT_EQ(switches_above(std::string(2000, 's') + ".node03"), "");
}

// torch's default port, because mpirun sets none.
TEST(Membership, UnderMpirunOnOneNode) {
    EXPECT_EQ(*read_membership(EnvironmentCopy(under_mpirun), "host"),
              (Membership{3, 4, 3, "host", "localhost", 29515, "."}));
}

TEST(Membership, MissingVariablesAreNamed) {
    EXPECT_EQ(refusal(under_mpirun, "OMPI_COMM_WORLD_LOCAL_SIZE", "2"),
              (Error{"MASTER_ADDR", "not set, and mpirun does not say which node runs rank 0",
                     "start it with mpirun -x MASTER_ADDR=HOST"}));
    EXPECT_EQ(
        read_membership(EnvironmentCopy(), "host").error(),
        (Error{"WORLD_SIZE", "not set", "start it with srun --distgpu=pytorch nccl-scaling"}));
}

TEST(Membership, NumbersAreChecked) {
    EXPECT_EQ(refusal(under_srun, "RANK", "8").problem, "not a number below 8");
    EXPECT_EQ(refusal(under_srun, "RANK", "-1").object, "RANK=-1");
    EXPECT_EQ(refusal(under_srun, "LOCAL_RANK", "").object, "LOCAL_RANK=");
    EXPECT_EQ(refusal(under_srun, "WORLD_SIZE", "8x").object, "WORLD_SIZE=8x");
    // 65536 - 15: the port of the control channel must exist too.
    EXPECT_EQ(refusal(under_srun, "MASTER_PORT", "65521").problem, "not a number below 65521");
}

// Slurm distributes ranks 0, 1, 2, 3 to nodes 1, 2, 1, 2.
TEST(NamesOfStep, FollowSlurmsDistribution) {
    const RankNames names = names_of_step(EnvironmentCopy({{"SLURM_STEP_NODELIST", "node[01-02]"},
                                                           {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"},
                                                           {"SLURM_DISTRIBUTION", "cyclic"}}));
    EXPECT_EQ(names(2), "rank 2 on node01");
    EXPECT_EQ(names(3), "rank 3 on node02");
    EXPECT_EQ(names(4), "rank 4");
}

// Two tasks on each of node01 and node02, with node02 first in the order.
TEST(NamesOfStep, FollowTheNodeOrder) {
    const RankNames names = names_of_step(
        EnvironmentCopy({{"SLURM_JOB_ID", "17"},
                         {"SLURM_STEP_ID", "0"},
                         {"SLURM_STEP_NODELIST", "node[01-02]"},
                         {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"},
                         {"SLURM_DISTGPU_LAYOUT", "17.0 node[01-02] 0.2.2.1 node[02,01]"}}));
    EXPECT_EQ(names(0), "rank 0 on node02");
    EXPECT_EQ(names(3), "rank 3 on node01");
}

TEST(NamesOfStep, AreNumbersIfTheNodesAreUnknown) {
    EXPECT_EQ(names_of_step(EnvironmentCopy())(2), "rank 2");
    EXPECT_EQ(names_of_step(EnvironmentCopy({{"SLURM_STEP_NODELIST", "node[01-02]"},
                                             {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"},
                                             {"SLURM_DISTRIBUTION", "arbitrary"}}))(2),
              "rank 2");
}

TEST(NamesOfPeers, UseTheReportedHosts) {
    EXPECT_EQ(names_of_peers({{"a", 0}, {"b", 0}})(1), "rank 1 on b");
}

}  // namespace
}  // namespace distgpu::scaling
