// JAX: the coordinator, and which GPUs are a task's own.
#include "mapping/frameworks/registry.h"
#include "task_values.h"

namespace distgpu {
namespace {

// jax/_src/distributed.py splits host and port at the colon.
TEST(Jax, TheCoordinatorHasAPort) {
    TaskContext task = sample_task();
    EXPECT_EQ(values(jax, task), (Values{{"JAX_COORDINATOR_ADDRESS", "node01:29500"},
                                         {"MASTER_ADDR", "node01"},
                                         {"MASTER_PORT", "29500"}}));
    task.master_address = "fd00::1";
    EXPECT_EQ(values(jax, task)["JAX_COORDINATOR_ADDRESS"], "[fd00::1]:29500");
}

TEST(Jax, DealsTheVisibleGpus) {
    struct Row {
        const char* title;
        std::uint32_t gpus, tasks, local_rank;
        const char* ids;
    };
    const std::vector<Row> rows = {
        {"a task for each", 4, 4, 2, "2"},          {"one task for all", 4, 1, 0, "0,1,2,3"},
        {"one visible GPU each", 1, 4, 3, "0"},     {"two for each", 8, 4, 1, "2,3"},
        {"seven for two: three", 7, 2, 0, "0,1,2"}, {"seven for two: four", 7, 2, 1, "3,4,5,6"},
        {"more tasks than GPUs", 2, 4, 3, "1"},
    };
    for (const auto& row : rows) {
        TaskContext task = sample_task();
        task.gpus = row.gpus;
        task.local_world_size = row.tasks;
        task.local_rank = LocalRank{row.local_rank};
        EXPECT_EQ(values(jax, task)["JAX_LOCAL_DEVICE_IDS"], row.ids) << row.title;
    }
}

// Any number of visible GPUs is right for it.
TEST(Jax, DoesNotNeedAGpuForEachTask) {
    EXPECT_FALSE(jax.one_gpu_per_task);
}

TEST(Jax, RemovesOuterLaunchers) {
    EXPECT_EQ(unset_patterns(jax),
              (std::vector<std::string>{"OMPI_MCA_orte_hnp_uri", "JAX_COORDINATOR_PORT"}));
}

}  // namespace
}  // namespace distgpu
