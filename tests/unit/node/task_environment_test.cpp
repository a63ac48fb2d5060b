// What a task's environment says, and the plan applied to it.
#include "node/task_environment.h"

#include "map_environment.h"
#include "mapping/texts/variables.h"

#include <gtest/gtest.h>

#include <string>

namespace distgpu {
namespace {

using Variables = MapEnvironment::Variables;

NodePlan plan_with(std::vector<std::string> unset,
                   std::vector<std::pair<std::string, std::string>> set) {
    NodePlan plan;
    plan.tasks.resize(1);
    plan.tasks[0].unset = std::move(unset);
    plan.tasks[0].set = std::move(set);
    return plan;
}

TEST(Exported, IsWhatTheUserSetAndNotWhatAnOuterStepGave) {
    const Variables outer{{"MASTER_ADDR", "n1"}, {"SLURM_DISTGPU_GIVEN", "A=1 MASTER_ADDR=n1"}};
    EXPECT_EQ(exported(MapEnvironment(Variables{{"MASTER_ADDR", "n1"}}), "MASTER_ADDR"), "n1");
    EXPECT_EQ(exported(MapEnvironment(Variables{{"MASTER_ADDR", ""}}), "MASTER_ADDR"),
              std::nullopt);
    EXPECT_EQ(exported(MapEnvironment(Variables{}), "MASTER_ADDR"), std::nullopt);
    EXPECT_EQ(exported(MapEnvironment(outer), "MASTER_ADDR"), std::nullopt);
    Variables changed = outer;
    changed["MASTER_ADDR"] = "n2";
    EXPECT_EQ(exported(MapEnvironment(changed), "MASTER_ADDR"), "n2");
    changed["MASTER_ADDR"] = not_loaded_address;
    EXPECT_EQ(exported(MapEnvironment(changed), "MASTER_ADDR"), std::nullopt);
}

TEST(RemoveRequest, TakesTheAddressThatSrunSentAndNoOther) {
    MapEnvironment task(Variables{{"SLURM_DISTGPU", "tf"}, {"MASTER_ADDR", not_loaded_address}});
    remove_request(task);
    EXPECT_EQ(task.variables(), MapEnvironment(Variables{}).variables());
    MapEnvironment own(Variables{{"MASTER_ADDR", "n1"}});
    remove_request(own);
    EXPECT_EQ(own.get("MASTER_ADDR"), "n1");
}

NodeFacts facts_of(const Variables& task) {
    const MapEnvironment environment(task);
    return read_node_facts(environment, environment);
}

TEST(NodeFacts, ComeFromWhatSlurmSets) {
    const NodeFacts facts = facts_of(
        {{"CUDA_VISIBLE_DEVICES", "0,1,2"}, {"SLURM_CPUS_ON_NODE", "24"}, {"NCCL_IB_HCA", "x"}});
    for (const auto& [text, count] : {std::pair{"6", 6U}, std::pair{"h100:6", 6U},
                                      std::pair{"a:2,b:4", 0U}, std::pair{"x", 0U}}) {
        EXPECT_EQ(facts_of({{"SLURM_GPUS", text}}).gpus_of_step, count) << text;
    }
    EXPECT_EQ(facts.gpus, 3U);
    EXPECT_EQ(facts.cpus, 24U);
    EXPECT_EQ(facts.exported, std::vector<std::string>{"NCCL_IB_HCA"});
    EXPECT_EQ(facts_of({{"ROCR_VISIBLE_DEVICES", "4"}}).gpus, 1U);
    EXPECT_EQ(facts_of({}).gpus, 0U);
}

// Of a container's variables only network settings count, where its user exported none.
TEST(NodeFacts, CountAContainersNetworkSettingsAsExportedAndNoOthers) {
    const MapEnvironment launch(Variables{{"UCX_NET_DEVICES", "mlx5_0:1"}});
    const MapEnvironment task(
        Variables{{"UCX_NET_DEVICES", "mlx5_0:1"}, {"NCCL_IB_HCA", "x"}, {"OMP_NUM_THREADS", "1"}});
    EXPECT_EQ(read_node_facts(task, launch).exported,
              (std::vector<std::string>{"NCCL_IB_HCA", "UCX_NET_DEVICES"}));
    EXPECT_EQ(read_node_facts(task, MapEnvironment(Variables{{"OMP_NUM_THREADS", "4"}})).exported,
              (std::vector<std::string>{"OMP_NUM_THREADS", "NCCL_IB_HCA", "UCX_NET_DEVICES"}));
}

// A launcher's processes are counted by them: 0 would divide by zero.
TEST(CpuCount, IsANumberThatANodeCanHave) {
    const auto count = [](const char* text) {
        return cpu_count(MapEnvironment(Variables{{"SLURM_CPUS_ON_NODE", text}}),
                         "SLURM_CPUS_ON_NODE");
    };
    EXPECT_EQ(count("24"), 24U);
    EXPECT_EQ(count("8192"), 8192U);
    for (const char* text : {"", "0", "4abc", " 4", "-1", "8193", "4294967297"}) {
        EXPECT_EQ(count(text), std::nullopt) << text;
        EXPECT_EQ(facts_of({{"SLURM_CPUS_ON_NODE", text}}).cpus, 1U) << text;
    }
    EXPECT_EQ(cpu_count(MapEnvironment(Variables{}), "SLURM_CPUS_ON_NODE"), std::nullopt);
}

TEST(TaskEnvironment, IsSetAfterItIsRemoved) {
    MapEnvironment environment(Variables{{"PET_A", "1"},
                                         {"PET_B", "2"},
                                         {"PETER", "3"},
                                         {"RANK", "9"},
                                         {"SLURM_DISTGPU", "pytorch"},
                                         {"SLURM_DISTGPU_STEP", "v2 7.0"},
                                         {"SLURM_JOB_ID", "42"},
                                         {"SLURM_STEP_ID", "7"}});
    ASSERT_TRUE(set_task_environment(
        environment, "pytorch,port=29500",
        plan_with({"PET_*", "RANK"}, {{"RANK", "0"}, {"MASTER_PORT", "29500"}}), LocalRank{0}));
    EXPECT_EQ(environment.variables(),
              (Variables{{"PETER", "3"},
                         {"RANK", "0"},
                         {"MASTER_PORT", "29500"},
                         {"SLURM_JOB_ID", "42"},
                         {"SLURM_STEP_ID", "7"},
                         {"SLURM_DISTGPU_GIVEN", "MASTER_PORT=29500"},
                         {"SLURM_DISTGPU_RANKS", "RANK=0 MASTER_PORT=29500"},
                         {"SLURM_DISTGPU_PREPARED", "42.7 pytorch,port=29500"}}));
}

TEST(InheritedRanks, AreWhatTheModeGaveAndNobodyChangedSince) {
    MapEnvironment task(Variables{});
    const std::string roles = R"({"a b": 1})";
    ASSERT_TRUE(set_task_environment(task, "tensorflow",
                                     plan_with({}, {{"RANK", "0"},
                                                    {"WORLD_SIZE", "1"},
                                                    {"TF_CONFIG", roles},
                                                    {"PET_LONG", std::string(90, 'x')},
                                                    {"SLURM_JOB_NAME", "interactive"},
                                                    {"OMP_NUM_THREADS", "4"},
                                                    {"NCCL_IB_HCA", "=mlx5_0:1"}}),
                                     LocalRank{0}));
    EXPECT_LT(task.get("SLURM_DISTGPU_RANKS")->size(), 110U);
    EXPECT_EQ(inherited_ranks(task), (std::vector<std::string>{"RANK", "WORLD_SIZE", "TF_CONFIG",
                                                               "PET_LONG", "SLURM_JOB_NAME"}));
    task.set("RANK", "3");
    task.set("SLURM_JOB_NAME", "mine");
    task.set("TF_CONFIG", R"({"a b": 2})");
    task.unset("WORLD_SIZE");
    EXPECT_EQ(inherited_ranks(task), std::vector<std::string>{"PET_LONG"});
    EXPECT_TRUE(inherited_ranks(MapEnvironment(Variables{{"RANK", "0"}})).empty());
}

TEST(OwnJobName, IsSlurmsWhereAModeGaveAnother) {
    MapEnvironment task(Variables{{"SLURM_JOB_NAME", "two words"}});
    EXPECT_EQ(own_job_name(task), "two words");
    const auto hidden = plan_with({}, {{"RANK", "0"}, {"SLURM_JOB_NAME", "interactive"}});
    // Twice: by the plugin, and by distgpu exec in its task.
    for (int time = 0; time < 2; ++time) {
        ASSERT_TRUE(set_task_environment(task, "lightning,per-node", hidden, LocalRank{0}));
        EXPECT_EQ(task.get("SLURM_JOB_NAME"), "interactive");
        EXPECT_EQ(task.get("SLURM_DISTGPU_JOB_NAME"), "two words");
        EXPECT_EQ(own_job_name(task), "two words");
    }
    task.set("SLURM_JOB_NAME", "mine");
    EXPECT_EQ(own_job_name(task), "mine");
    ASSERT_TRUE(
        set_task_environment(task, "pytorch", plan_with({}, {{"RANK", "0"}}), LocalRank{0}));
    EXPECT_EQ(task.get("SLURM_JOB_NAME"), "mine");
    EXPECT_EQ(task.get("SLURM_DISTGPU_JOB_NAME"), std::nullopt);
    EXPECT_EQ(own_job_name(MapEnvironment(Variables{})), std::nullopt);
}

TEST(PreparedSpec, IsOfThisStepAlone) {
    const auto spec = [](const Variables& variables) {
        return prepared_spec(MapEnvironment(variables));
    };
    Variables task{{"SLURM_DISTGPU_PREPARED", "42.7 pytorch,port=2000"}, {"SLURM_JOB_ID", "42"}};
    EXPECT_EQ(spec(task), std::nullopt);  // no step: of an outer one
    task["SLURM_STEP_ID"] = "7";
    EXPECT_EQ(spec(task), "pytorch,port=2000");
    task["SLURM_STEP_ID"] = "8";
    EXPECT_EQ(spec(task), std::nullopt);
    EXPECT_EQ(spec(Variables{}), std::nullopt);
    // Outside Slurm, by distgpu exec.
    EXPECT_EQ(spec(Variables{{"SLURM_DISTGPU_PREPARED", "0.0 jax"}}), "jax");
}

TEST(TaskEnvironment, SaysWhatWasNotTakenAndSetsTheRest) {
    MapEnvironment environment(Variables{});
    const auto done = set_task_environment(
        environment, "tensorflow",
        plan_with({},
                  {{"TF_CONFIG", std::string(MapEnvironment::longest + 1, 'x')}, {"RANK", "0"}}),
        LocalRank{0});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().message(),
              "distgpu: variable TF_CONFIG: could not be set (201 bytes); please report this");
    EXPECT_EQ(environment.get("RANK"), "0");
}

}  // namespace
}  // namespace distgpu
