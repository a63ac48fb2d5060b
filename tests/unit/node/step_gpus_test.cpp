// The step's GPUs from SLURM_STEP_GPUS and CUDA_VISIBLE_DEVICES, as Slurm sets them on a node of
// four or more.
#include "node/step_gpus.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace distgpu {
namespace {

TEST(StepGpus, AreNumbersOnTheNodeAndNamesInTheTask) {
    struct Row {
        const char* title;
        const char* global;
        const char* visible;
        StepGpus gpus;
    };
    const std::vector<Row> rows = {
        {"all", "0,1,2,3", "0,1,2,3", {{0, 1, 2, 3}, {"0", "1", "2", "3"}}},
        {"one", "2", "2", {{2}, {"2"}}},
        {"hidden ones are not counted", "2,3", "0,1", {{2, 3}, {"0", "1"}}},
        {"apart", "0,3", "0,1", {{0, 3}, {"0", "1"}}},
    };
    for (const auto& row : rows) {
        EXPECT_EQ(step_gpus(row.global, row.visible, 4), row.gpus) << row.title;
    }
    EXPECT_EQ(step_gpus("9,10,11", "9,10,11", 12), (StepGpus{{9, 10, 11}, {"9", "10", "11"}}));
}

TEST(StepGpus, AreNotKnownOtherwise) {
    struct Row {
        const char* title;
        const char* global;
        const char* visible;
    };
    const std::vector<Row> rows = {
        {"no GPU", "", ""},
        {"not told where", "", "0,1"},
        {"not told how", "0,1", ""},
        {"MIG instances", "0,1", "MIG-64dfcfa8-0b7a-5a6e-9d3f-4a2b7ab9d2c1,MIG-1"},
        {"GPUs by UUID", "0,1", "GPU-1,GPU-2"},
        {"more GPUs than the topology has", "3,4", "0,1"},
        {"a name past the last GPU", "0,1", "0,4"},
        {"more names", "0,1", "0,1,2"},
        {"fewer names", "0,1,2", "0,1"},
        {"not ascending", "1,0", "0,1"},
        {"names not ascending", "0,1", "1,0"},
        {"twice the same", "0,0", "0,1"},
        {"twice the same name", "0,1", "0,0"},
        {"a comma too much", "0,1,", "0,1"},
        {"a comma before", ",0", "0"},
        {"a range", "0-1", "0"},
        {"a sign", "-1", "0"},
        {"a blank", "0, 1", "0,1"},
        {"2^32 + 1", "4294967297", "1"},
        {"a type", "gpu:0", "0"},
    };
    for (const auto& row : rows) {
        EXPECT_EQ(step_gpus(row.global, row.visible, 4), std::nullopt) << row.title;
    }
    EXPECT_EQ(step_gpus("0", "0", 0), std::nullopt);
}

TEST(PerTask, IsTheNumberInSlurmsBinding) {
    EXPECT_EQ(per_task("gpu:per_task:1"), 1);
    EXPECT_EQ(per_task("gpu:per_task:12"), 12);
    EXPECT_EQ(per_task("gpu:verbose,per_task:2"), 2);
    EXPECT_EQ(per_task("gres/gpu:per_task:2"), 2);
    EXPECT_EQ(per_task("nic:closest+gpu:per_task:3"), 3);
    for (const char* other : {"", "gpu:single:1", "gpu:closest", "gpu:map_gpu:0,1", "gpu:per_task",
                              "gpu:closest+nic:per_task:1", "gpu:per_task:", "gpu:per_task:all",
                              "gpu:per_task:-1", "gpu:per_task:2abc", "gpu:per_task:4294967297"}) {
        EXPECT_EQ(per_task(other), 0) << other;
    }
}

}  // namespace
}  // namespace distgpu
