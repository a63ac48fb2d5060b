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
        // 24.11 and newer: --tres-per-task, which --gpus-per-task sets too, and --cpus-per-task.
        {"SLURM_TRES_PER_TASK", "gres/gpu=1", GpuOwner::task},
        {"SLURM_TRES_PER_TASK", "cpu=4,gres/gpu:h100=1", GpuOwner::task},
        {"SLURM_TRES_PER_TASK", "cpu=4", GpuOwner::step},
        {"SLURM_TRES_PER_TASK", "license/gpu=1", GpuOwner::step},
        {"SLURMD_TRES_BIND", "gpu:per_task:2", GpuOwner::task},
        {"SLURMD_TRES_BIND", "gres/gpu:per_task:2", GpuOwner::task},
        {"SLURMD_TRES_BIND", "nic:closest+gpu:verbose,map_gpu:3,0", GpuOwner::task},
        {"SLURMD_TRES_BIND", "gpu:none", GpuOwner::step},
        {"SLURMD_TRES_BIND", "gpu:verbose,none", GpuOwner::step},
        {"SLURMD_TRES_BIND", "nic:closest", GpuOwner::step},
        {"SLURM_GPUS_ON_NODE", "2", GpuOwner::step},
    };
    for (const auto& row : rows) {
        const Variables named = task_with(row.variable, row.value);
        EXPECT_EQ(gpu_owner(MapEnvironment(named)), row.owner) << row.variable;
        EXPECT_EQ(gpu_owner(MapEnvironment(task_with(row.variable, ""))), GpuOwner::step)
            << row.variable;
    }
}

TEST(GpuOwner, IsAllJobsBeforeItIsATask) {
    Variables variables = task_with("SLURM_GPUS_PER_TASK", "1");
    variables["SLURM_SHARDS_ON_NODE"] = "2";
    EXPECT_EQ(gpu_owner(MapEnvironment(variables)), GpuOwner::jobs);
}

TEST(CountsByPci, UnlessAnotherOrderIsSet) {
    EXPECT_TRUE(counts_by_pci(MapEnvironment(task())));
    for (const char* order : {"", "PCI_BUS_ID"}) {
        EXPECT_TRUE(counts_by_pci(MapEnvironment(task_with("CUDA_DEVICE_ORDER", order)))) << order;
    }
    for (const char* order : {"FASTEST_FIRST", "pci_bus_id"}) {
        EXPECT_FALSE(counts_by_pci(MapEnvironment(task_with("CUDA_DEVICE_ORDER", order)))) << order;
    }
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
    EXPECT_EQ(visible_gpus(amd), "1");
    EXPECT_EQ(visible_gpus(MapEnvironment(Variables{})), "");
}

}  // namespace
}  // namespace distgpu
