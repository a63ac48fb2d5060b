// What torchrun gets, started once a node: its options as PET_<DEST>.
#include "mapping/frameworks/registry.h"
#include "task_values.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace distgpu {
namespace {

TEST(Torchrun, TellsALauncherItsNode) {
    // Task 1 of 3, alone on node 1.
    TaskContext task = sample_task();
    task.rank = GlobalRank{1};
    task.world_size = 3;
    task.local_rank = LocalRank{0};
    task.local_world_size = 1;
    EXPECT_EQ(values(torchrun, task), (Values{{"PET_NNODES", "3"},
                                              {"PET_NPROC_PER_NODE", "5"},
                                              {"PET_NODE_RANK", "1"},
                                              {"PET_MASTER_ADDR", "node01"},
                                              {"PET_MASTER_PORT", "29500"},
                                              {"PET_RDZV_BACKEND", "static"},
                                              {"PET_RDZV_ID", "4242.7"},
                                              {"PET_LOCAL_ADDR", "10.0.0.2"},
                                              {"MASTER_ADDR", "node01"},
                                              {"MASTER_PORT", "29500"},
                                              {"NODE_RANK", "1"}}));
}

// The launcher sets its children's ranks; an endpoint would win over the address.
TEST(Torchrun, RemovesRanksAndTheEndpoint) {
    const auto names = unset_patterns(torchrun);
    for (const char* name : {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE",
                             "TORCHELASTIC_*", "PET_RDZV_ENDPOINT", "OMPI_COMM_WORLD_*"}) {
        EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
    }
}

TEST(Torchrun, RunsOncePerNode) {
    EXPECT_TRUE(torchrun.launcher_per_node);
    EXPECT_EQ(refusal_of({"torchrun", "n[1-3]", "1(x3)"}), "");
}

TEST(Torchrun, RefusesSeveralTasksOnANode) {
    // The fullest node counts, wherever it stands.
    for (const char* counts : {"4,1,1", "1,1,4", "4(x3)"}) {
        EXPECT_EQ(refusal_of({"torchrun", "n[1-3]", counts}),
                  "distgpu: --distgpu=torchrun: 4 tasks on a node, but this mode's launcher starts "
                  "the processes itself and needs one task per node; use --ntasks-per-node=1 "
                  "--distgpu=torchrun, or --distgpu=pytorch and the script without its launcher")
            << counts;
    }
}

// torch's c10d rendezvous: run.py ignores the node's rank, the store is served
// where is_host says so, and an endpoint names its address and port in one.
TEST(TorchrunC10d, TellsALauncherWhereTheStoreIs) {
    const SampleStep step("torchrun,rdzv=c10d", "n[1-3]", "1(x3)");
    TaskContext task = sample_task();
    task.master_address = "fd00::1";
    EXPECT_EQ(values(*step.request.framework, task),
              (Values{{"PET_NNODES", "3"},
                      {"PET_NPROC_PER_NODE", "5"},
                      {"PET_RDZV_ID", "4242.7"},
                      {"PET_LOCAL_ADDR", "10.0.0.2"},
                      {"PET_RDZV_BACKEND", "c10d"},
                      {"PET_RDZV_ENDPOINT", "[fd00::1]:29500"},
                      {"PET_RDZV_CONF", "is_host=0"},
                      {"MASTER_ADDR", "fd00::1"},
                      {"MASTER_PORT", "29500"},
                      {"NODE_RANK", "1"}}));
    task.rank = GlobalRank{0};
    EXPECT_EQ(values(*step.request.framework, task)["PET_RDZV_CONF"], "is_host=1");
}

TEST(TorchrunC10d, RemovesWhatTheStaticRendezvousReads) {
    const SampleStep step("torchrun,rdzv=c10d", "n[1-3]", "1(x3)");
    const auto names = unset_patterns(*step.request.framework);
    for (const char* name : {"RANK", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT"}) {
        EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
    }
    EXPECT_NE(refusal_of({"torchrun,rdzv=c10d", "n1", "2"}), "");
}

}  // namespace
}  // namespace distgpu
