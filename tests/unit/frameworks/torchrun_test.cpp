// What torchrun gets, started once a node: its options as PET_<DEST>.
#include "frameworks/registry.h"
#include "task_values.h"

#include <distgpu/step_layout.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

namespace distgpu {
namespace {

std::optional<StepLayout> layout(const char* hosts, const char* counts) {
    const auto runs = parse_tasks_per_node(counts);
    auto list = HostList::parse(hosts);
    if (!runs || !list) return std::nullopt;
    auto result = StepLayout::distribute(*std::move(list), *runs, {});
    return result ? std::optional(*std::move(result)) : std::nullopt;
}

TEST(Torchrun, TellsALauncherItsNode) {
    // Task 1 of 3, alone on node 1.
    TaskContext task = sample_task();
    task.rank = GlobalRank{1};
    task.world_size = 3;
    task.local_rank = LocalId{0};
    task.local_world_size = 1;
    EXPECT_EQ(values(torchrun, task), (Values{{"PET_NNODES", "3"},
                                              {"PET_NPROC_PER_NODE", "5"},
                                              {"PET_NODE_RANK", "1"},
                                              {"PET_MASTER_ADDR", "node01"},
                                              {"PET_MASTER_PORT", "29500"},
                                              {"PET_RDZV_BACKEND", "static"},
                                              {"PET_RDZV_ID", "4242.7"},
                                              {"PET_LOCAL_ADDR", "node02"},
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
    ASSERT_NE(torchrun.check_step, nullptr);
    const auto step = layout("n[1-3]", "1(x3)");
    ASSERT_TRUE(step);
    EXPECT_EQ(torchrun.check_step(*step), std::nullopt);
}

TEST(Torchrun, RefusesSeveralTasksOnANode) {
    ASSERT_NE(torchrun.check_step, nullptr);
    // The fullest node counts, wherever it stands.
    for (const char* counts : {"4,1,1", "1,1,4", "4(x3)"}) {
        const auto step = layout("n[1-3]", counts);
        ASSERT_TRUE(step);
        const auto refusal = torchrun.check_step(*step);
        ASSERT_TRUE(refusal) << counts;
        EXPECT_EQ(refusal->message(),
                  "distgpu: --distgpu=torchrun: 4 tasks on a node, but torchrun is started once a "
                  "node and starts the processes itself; use --ntasks-per-node=1, or "
                  "--distgpu=pytorch and start the script without torchrun");
    }
}

}  // namespace
}  // namespace distgpu
