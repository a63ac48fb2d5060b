#include "bootstrap/rank_names.h"

#include "base/environment_copy.h"

#include <gtest/gtest.h>

namespace distgpu::scaling {
namespace {

// Slurm deals ranks 0, 1, 2, 3 to nodes 1, 2, 1, 2.
TEST(NamesOfStep, FollowSlurmsDistribution) {
    const RankNames names = names_of_step(EnvironmentCopy({{"SLURM_STEP_NODELIST", "node[01-02]"},
                                                           {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"},
                                                           {"SLURM_DISTRIBUTION", "cyclic"}}));
    EXPECT_EQ(names(2), "rank 2 on node01");
    EXPECT_EQ(names(3), "rank 3 on node02");
    EXPECT_EQ(names(4), "rank 4");
}

// Two tasks on each of node01 and node02, with node02 first in the order.
TEST(NamesOfStep, FollowTheOrderOfTheNodes) {
    const RankNames names = names_of_step(
        EnvironmentCopy({{"SLURM_JOB_ID", "17"},
                         {"SLURM_STEP_ID", "0"},
                         {"SLURM_STEP_NODELIST", "node[01-02]"},
                         {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"},
                         {"SLURM_DISTGPU_LAYOUT", "17.0 node[01-02] 0.2.2.1 node[02,01]"}}));
    EXPECT_EQ(names(0), "rank 0 on node02");
    EXPECT_EQ(names(3), "rank 3 on node01");
}

TEST(NamesOfStep, AreNumbersWhereTheNodesAreNotKnown) {
    EXPECT_EQ(names_of_step(EnvironmentCopy())(2), "rank 2");
    EXPECT_EQ(names_of_step(EnvironmentCopy({{"SLURM_STEP_NODELIST", "node[01-02]"},
                                             {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"},
                                             {"SLURM_DISTRIBUTION", "arbitrary"}}))(2),
              "rank 2");
}

TEST(NamesOfPeers, AreWhatTheRanksSaid) {
    EXPECT_EQ(names_of_peers({{"a", 0}, {"b", 0}})(1), "rank 1 on b");
}

}  // namespace
}  // namespace distgpu::scaling
