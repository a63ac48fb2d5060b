// Whose GPUs a task sees, by each variable that says so.
#include "node/gpu_ownership.h"

#include "map_environment.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace distgpu {
namespace {

using Variables = MapEnvironment::Variables;

// A task that sees two of the node's four GPUs.
Variables task() {
    return {{"SLURM_STEP_GPUS", "2,3"}, {"CUDA_VISIBLE_DEVICES", "0,1"}};
}

Variables task_with(const char* name, const char* value) {
    Variables variables = task();
    variables[name] = value;
    return variables;
}

std::optional<StepGpus> ordered(const Variables& variables,
                                const std::optional<GpuLists>& of_step = std::nullopt) {
    return gpus_to_order(MapEnvironment(variables), of_step, 4);
}

const StepGpus seen{{2, 3}, {"0", "1"}};
const StepGpus of_whole_step{{0, 1, 2, 3}, {"0", "1", "2", "3"}};
const GpuLists whole_step{"0,1,2,3", "0,1,2,3"};

TEST(GpuOwner, IsWhomSlurmsVariablesName) {
    struct Row {
        const char* variable;
        const char* value;
        GpuOwner owner;
    };
    const std::vector<Row> rows = {
        {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "50", GpuOwner::jobs},
        {"SLURM_SHARDS_ON_NODE", "2", GpuOwner::jobs},
        {"SLURM_GPUS_PER_TASK", "1", GpuOwner::task},
        {"SLURM_GPU_BIND", "closest", GpuOwner::task},
        {"SLURM_TRES_BIND", "gres/gpu:single:1", GpuOwner::task},
        {"SLURM_NTASKS_PER_GPU", "1", GpuOwner::task},
        {"SLURM_GPUS_ON_NODE", "2", GpuOwner::step},
    };
    for (const auto& row : rows) {
        const Variables named = task_with(row.variable, row.value);
        EXPECT_EQ(gpu_owner(MapEnvironment(named)), row.owner) << row.variable;
        EXPECT_EQ(gpu_owner(MapEnvironment(task_with(row.variable, ""))), GpuOwner::step)
            << row.variable;
        // Shared ones are never ordered, bound ones where the whole step's are known.
        const bool alone = row.owner == GpuOwner::step;
        const bool known = row.owner != GpuOwner::jobs;
        EXPECT_EQ(ordered(named), alone ? std::optional(seen) : std::nullopt) << row.variable;
        EXPECT_EQ(ordered(named, whole_step), known ? std::optional(of_whole_step) : std::nullopt)
            << row.variable;
    }
}

TEST(GpuOwner, IsAllJobsBeforeItIsATask) {
    Variables variables = task_with("SLURM_GPUS_PER_TASK", "1");
    variables["SLURM_SHARDS_ON_NODE"] = "2";
    EXPECT_EQ(gpu_owner(MapEnvironment(variables)), GpuOwner::jobs);
}

TEST(GpusToOrder, AreNoneWhereTheTaskSeesNone) {
    Variables variables = task();
    variables["CUDA_VISIBLE_DEVICES"] = "";
    EXPECT_EQ(ordered(variables), std::nullopt);
    EXPECT_EQ(ordered(variables, whole_step), std::nullopt);
}

TEST(GpuVariables, AreThoseThatAreSetOneForEachMaker) {
    EXPECT_EQ(gpu_variables(MapEnvironment(Variables{{"CUDA_VISIBLE_DEVICES", "0"},
                                                     {"ROCR_VISIBLE_DEVICES", "1"},
                                                     {"ZE_AFFINITY_MASK", "2"}})),
              (std::vector<std::string>{"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
                                        "ZE_AFFINITY_MASK"}));
    const MapEnvironment amd(
        Variables{{"CUDA_VISIBLE_DEVICES", ""}, {"ROCR_VISIBLE_DEVICES", "1"}});
    EXPECT_EQ(gpu_variables(amd), std::vector<std::string>{"ROCR_VISIBLE_DEVICES"});
    EXPECT_EQ(gpu_lists(amd), (GpuLists{"", "1"}));
    EXPECT_EQ(gpu_lists(MapEnvironment(Variables{})), GpuLists{});
}

}  // namespace
}  // namespace distgpu
