// What a task's environment says, the plan applied to it, and how it differs from the plan.
#include "node/task_environment.h"

#include "map_environment.h"
#include "mapping/message_of.h"
#include "mapping/texts/variables.h"

#include <gtest/gtest.h>

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
    const auto exported_by = [](const Variables& variables) {
        return exported(MapEnvironment(variables), "MASTER_ADDR");
    };
    const char* const given = "A=1 MASTER_ADDR=n1";
    EXPECT_EQ(exported_by({{"MASTER_ADDR", "n1"}}), "n1");
    EXPECT_EQ(exported_by({{"MASTER_ADDR", ""}}), std::nullopt);
    EXPECT_EQ(exported_by({}), std::nullopt);
    EXPECT_EQ(exported_by({{"MASTER_ADDR", "n1"}, {"SLURM_DISTGPU_GIVEN", given}}), std::nullopt);
    EXPECT_EQ(exported_by({{"MASTER_ADDR", "n2"}, {"SLURM_DISTGPU_GIVEN", given}}), "n2");
    EXPECT_EQ(exported_by({{"MASTER_ADDR", not_loaded_address}}), std::nullopt);
}

TEST(RemoveRequest, TakesTheAddressThatSrunSentAndNoOther) {
    MapEnvironment task(Variables{{"SLURM_DISTGPU", "tf"}, {"MASTER_ADDR", not_loaded_address}});
    remove_request_variables(task);
    EXPECT_EQ(task.variables(), MapEnvironment(Variables{}).variables());
    MapEnvironment own(Variables{{"MASTER_ADDR", "n1"}});
    remove_request_variables(own);
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
              (std::vector<std::string>{"NCCL_IB_HCA", "OMP_NUM_THREADS", "UCX_NET_DEVICES"}));
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
    EXPECT_EQ(inherited_rank_variables(task),
              (std::vector<std::string>{"RANK", "WORLD_SIZE", "TF_CONFIG", "PET_LONG",
                                        "SLURM_JOB_NAME"}));
    task.set("RANK", "3");
    task.set("SLURM_JOB_NAME", "mine");
    task.set("TF_CONFIG", R"({"a b": 2})");
    task.unset("WORLD_SIZE");
    EXPECT_EQ(inherited_rank_variables(task), std::vector<std::string>{"PET_LONG"});
    EXPECT_TRUE(inherited_rank_variables(MapEnvironment(Variables{{"RANK", "0"}})).empty());
}

TEST(OwnJobName, IsSlurmsWhereAModeGaveAnother) {
    MapEnvironment task(Variables{{"SLURM_JOB_NAME", "two words"}});
    EXPECT_EQ(original_job_name(task), "two words");
    const auto hidden = plan_with({}, {{"RANK", "0"}, {"SLURM_JOB_NAME", "interactive"}});
    // Twice: by the plugin, and by distgpu exec in its task.
    for (int time = 0; time < 2; ++time) {
        ASSERT_TRUE(set_task_environment(task, "lightning,per-node", hidden, LocalRank{0}));
        EXPECT_EQ(task.get("SLURM_JOB_NAME"), "interactive");
        EXPECT_EQ(task.get("SLURM_DISTGPU_JOB_NAME"), "two words");
        EXPECT_EQ(original_job_name(task), "two words");
    }
    task.set("SLURM_JOB_NAME", "mine");
    EXPECT_EQ(original_job_name(task), "mine");
    ASSERT_TRUE(
        set_task_environment(task, "pytorch", plan_with({}, {{"RANK", "0"}}), LocalRank{0}));
    EXPECT_EQ(task.get("SLURM_JOB_NAME"), "mine");
    EXPECT_EQ(task.get("SLURM_DISTGPU_JOB_NAME"), std::nullopt);
    EXPECT_EQ(original_job_name(MapEnvironment(Variables{})), std::nullopt);
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
    EXPECT_EQ(message_of(set_task_environment(
                  environment, "tensorflow",
                  plan_with({}, {{"TF_CONFIG", std::string(MapEnvironment::longest + 1, 'x')},
                                 {"RANK", "0"}}),
                  LocalRank{0})),
              "distgpu: variable TF_CONFIG: could not be set (201 bytes); please report this");
    EXPECT_EQ(environment.get("RANK"), "0");
}

// ---- A task's variables beside those of the plan.

TaskPlan task() {
    TaskPlan task;
    task.unset = {"PET_*", "OMPI_COMM_WORLD_RANK"};
    task.set = {{"RANK", "1"},       {"MASTER_ADDR", "10"}, {"MASTER_PORT", "2000"},
                {"TF_CONFIG", "{}"}, {"PET_NNODES", "2"},   {"OMP_NUM_THREADS", "4"}};
    return task;
}

Variables prepared() {
    return {{"RANK", "1"},
            {"MASTER_ADDR", "10"},
            {"MASTER_PORT", "2000"},
            {"TF_CONFIG", "{}"},
            {"PET_NNODES", "2"}};
}

TEST(Differences, AreRanksAndWhatIsMissingOrLeft) {
    struct Row {
        Variables changed;  // empty: as if unset
        std::vector<Difference> differences;
    };
    for (const auto& [changed, expected] :
         {// Not OMP_NUM_THREADS, which the user may have taken away.
          Row{{}, {}},
          // Nor addresses, ports and texts.
          Row{{{"MASTER_ADDR", "11"},
               {"MASTER_PORT", "3000"},
               {"TF_CONFIG", "{\"cluster\": {}}"},
               {"OMP_NUM_THREADS", "8"}},
              {}},
          Row{{{"RANK", "2"}}, {{"RANK", "2", "1"}}},
          Row{{{"RANK", ""}, {"MASTER_PORT", ""}, {"TF_CONFIG", ""}},
              {{"RANK", std::nullopt, "1"},
               {"MASTER_PORT", std::nullopt, "2000"},
               {"TF_CONFIG", std::nullopt, "{}"}}},
          // Left, although it was to be removed; the size is not named.
          Row{{{"PET_NPROC_PER_NODE", "8"},
               {"OMPI_COMM_WORLD_RANK", "0"},
               {"OMPI_COMM_WORLD_SIZE", "1"}},
              {{"OMPI_COMM_WORLD_RANK", "0", std::nullopt},
               {"PET_NPROC_PER_NODE", "8", std::nullopt}}}}) {
        Variables variables = prepared();
        for (const auto& [name, value] : changed) variables[name] = value;
        EXPECT_EQ(differences_from_plan(MapEnvironment(variables), task()), expected);
        std::erase_if(variables, [](const auto& variable) { return variable.second.empty(); });
        EXPECT_EQ(differences_from_plan(MapEnvironment(variables), task()), expected);
    }
}

}  // namespace
}  // namespace distgpu
