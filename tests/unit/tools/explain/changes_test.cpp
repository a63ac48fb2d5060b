// What of a rank is otherwise than when its task began, or than distgpu gave or plans it.
#include "explain/changes.h"

#include "mapping/frameworks/framework.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace distgpu {
namespace {

using Variables = EnvironmentCopy::Variables;
using Changes = std::vector<Change>;
using Since = Change::Since;

const Framework* mode(const char* name) {
    return find_framework(name);
}

Changes changed(const Variables& task, const Variables& rank, const Framework* framework,
                const TaskPlan* plan = nullptr) {
    return changed_variables({EnvironmentCopy(task), EnvironmentCopy(rank), framework, plan});
}

TEST(ChangedVariables, AreThoseOfAWrapper) {
    const Variables task{{"NCCL_DEBUG", "WARN"}, {"OMP_NUM_THREADS", "4"}, {"PATH", "/bin"}};
    const Variables rank{{"NCCL_ALGO", "Tree"}, {"OMP_NUM_THREADS", "8"}, {"PATH", "/opt"}};
    EXPECT_EQ(changed(task, rank, mode("pytorch")),
              (Changes{{Since::start, "NCCL_ALGO", std::nullopt, "Tree"},
                       {Since::start, "NCCL_DEBUG", "WARN", std::nullopt},
                       {Since::start, "OMP_NUM_THREADS", "4", "8"}}));
    EXPECT_EQ(changed(task, task, mode("pytorch")), Changes{});
}

TEST(ChangedVariables, AreNotThoseThatALauncherGives) {
    const Variables task{{"NODE_RANK", "1"}, {"MASTER_PORT", "29500"}};
    Variables rank{
        {"NODE_RANK", "1"},  {"MASTER_PORT", "41234"}, {"RANK", "3"},
        {"LOCAL_RANK", "1"}, {"WORLD_SIZE", "4"},      {"TORCHELASTIC_RUN_ID", "5.0"},
        {"ROLE_RANK", "3"},  {"GROUP_RANK", "1"},      {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"}};
    for (const Framework* const framework : {mode("torchrun"), mode("")}) {
        EXPECT_EQ(changed(task, rank, framework), Changes{});
    }
    rank["NCCL_ALGO"] = "Tree";
    EXPECT_EQ(changed(task, rank, mode("torchrun")),
              (Changes{{Since::start, "NCCL_ALGO", std::nullopt, "Tree"}}));
    // Where Slurm starts the ranks, nobody else has to.
    EXPECT_EQ(changed(task, rank, mode("pytorch")).size(), 9U);
}

TEST(ChangedVariables, AreThoseThatDistgpuGave) {
    const std::string given = "MASTER_ADDR=n1 NCCL_SOCKET_IFNAME==eth0 NCCL_IB_HCA=mlx5_0:1";
    const Variables task{
        {"SLURM_DISTGPU_GIVEN", given}, {"MASTER_ADDR", "n1"}, {"NCCL_SOCKET_IFNAME", "=eth1"}};
    EXPECT_EQ(changed(task, task, mode("pytorch")),
              (Changes{{Since::given, "NCCL_IB_HCA", "mlx5_0:1", std::nullopt},
                       {Since::given, "NCCL_SOCKET_IFNAME", "=eth0", "=eth1"}}));
}

TEST(ChangedVariables, AreRanksOtherThanPlanned) {
    TaskPlan plan;
    plan.node_rank = NodeRank{1};
    plan.set = {{"RANK", "3"}, {"WORLD_SIZE", "4"}};
    EXPECT_EQ(changed({}, {{"RANK", "2"}, {"WORLD_SIZE", "4"}}, mode("pytorch"), &plan).back(),
              (Change{Since::start, "WORLD_SIZE", std::nullopt, "4"}));
    const Variables both{{"RANK", "2"}, {"WORLD_SIZE", "4"}};
    EXPECT_EQ(changed(both, both, mode("pytorch"), &plan),
              (Changes{{Since::planned, "RANK", "3", "2"}}));
    // torchrun's ranks are its own, but not the order of the nodes.
    plan.set = {{"NODE_RANK", "1"}};
    const Variables task{{"NODE_RANK", "1"}};
    Variables rank{{"NODE_RANK", "1"}, {"RANK", "0"}, {"GROUP_RANK", "1"}};
    EXPECT_EQ(changed(task, rank, mode("torchrun"), &plan), Changes{});
    rank["GROUP_RANK"] = "0";
    EXPECT_EQ(changed(task, rank, mode("torchrun"), &plan),
              (Changes{{Since::planned, "GROUP_RANK", "1", "0"}}));
}

TEST(ChangedCpus, AreKnownOnBothSides) {
    EXPECT_EQ(changed_cpus(CpuSet{0, 1}, CpuSet{0}), (Changes{{Since::start, "CPUs", "0-1", "0"}}));
    EXPECT_EQ(changed_cpus(CpuSet{0}, CpuSet{0, 1}).size(), 1U);
    EXPECT_EQ(changed_cpus(CpuSet{0, 1}, CpuSet{0, 1}), Changes{});
    EXPECT_EQ(changed_cpus({}, CpuSet{0}), Changes{});
    EXPECT_EQ(changed_cpus(CpuSet{0}, {}), Changes{});
}

TEST(VariablesToldOf, AreThoseOfTraining) {
    for (const char* const name : {"RANK", "NCCL_ALGO", "TF_CONFIG", "OMP_NUM_THREADS", "UCX_TLS",
                                   "CUDA_VISIBLE_DEVICES", "TORCH_NCCL_ASYNC_ERROR_HANDLING"}) {
        EXPECT_TRUE(is_told_of(name)) << name;
    }
    for (const char* const name : {"PATH", "WANDB_API_KEY", "SLURM_JOB_NAME",
                                   "SLURM_DISTGPU_SECRET", "HOME", "RANKS", "SLURM_PROCID"}) {
        EXPECT_FALSE(is_told_of(name)) << name;
    }
    // Those of each rank, and those of all.
    for (const char* const name : {"RANK", "ROLE_RANK", "CUDA_VISIBLE_DEVICES", "PET_NODE_RANK"}) {
        EXPECT_FALSE(is_of_step(name)) << name;
    }
    EXPECT_TRUE(is_of_step("NCCL_ALGO"));
}

TEST(VariablesToldOf, AreShort) {
    const std::string config(30'000, 'x');
    const auto told = variables_told_of(EnvironmentCopy({{"TF_CONFIG", config}, {"HOME", "/"}}));
    ASSERT_EQ(told.size(), 1U);
    EXPECT_LT(told[0].value.size(), 350U);
    EXPECT_NE(told[0].value.find("... (30000 bytes, "), std::string::npos);
    const auto other = variables_told_of(EnvironmentCopy({{"TF_CONFIG", config.substr(1) + "y"}}));
    EXPECT_NE(told[0].value, other[0].value);
}

}  // namespace
}  // namespace distgpu
