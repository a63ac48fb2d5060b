// Layouts from the step's own environment: the rows were run on Slurm 22.05.8,
// 24.11.5 and 26.05.3, which agree.
#include "slurm/step_environment.h"

#include "base/environment_copy.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace distgpu {
namespace {

using Names = std::vector<std::string>;

// The node of every task in turn.
Names placed(const StepLayout& layout) {
    Names names;
    for (std::uint32_t task = 0; task < layout.task_count(); ++task) {
        names.push_back(layout.hosts().name(layout.place(TaskId{task}).node));
    }
    return names;
}

TEST(StepEnvironment, BlockCyclicAndPlaneAreDerived) {
    struct Row {
        const char* title;
        StepEnvironment environment;
        Names nodes;
    };
    const Names block{"n1", "n1", "n1", "n1", "n1", "n2", "n3"};
    const Names cyclic{"n1", "n2", "n3", "n1", "n1", "n1", "n1"};
    const std::vector<Row> rows = {
        {"-N3 -n7 -m block", {"n[1-3]", "5,1(x2)", "block", ""}, block},
        {"-N3 -n7", {"n[1-3]", "5,1(x2)", "", ""}, block},
        {"-N3 -n7 -m cyclic", {"n[1-3]", "5,1(x2)", "cyclic", ""}, cyclic},
        {"-N3 -n8 -m plane=2",
         {"n[1-3]", "6,1(x2)", "plane", "2"},
         {"n1", "n1", "n2", "n3", "n1", "n1", "n1", "n1"}},
        {"-N3 -n8 -m plane=3",
         {"n[1-3]", "6,1(x2)", "plane", "3"},
         {"n1", "n1", "n1", "n2", "n3", "n1", "n1", "n1"}},
        {"--relative=2 -N2 in 4 nodes", {"n[3-4]", "1(x2)", "", ""}, {"n3", "n4"}},
        {"-w n[3,2] -n4", {"n[2-3]", "3,1", "", ""}, {"n2", "n2", "n2", "n3"}},
        {"-x n1 -N2 -n4 -m cyclic", {"n[2-3]", "3,1", "cyclic", ""}, {"n2", "n3", "n2", "n2"}},
        {"-N3 -n3, unset stands for cyclic", {"n[1-3]", "1(x3)", "", ""}, {"n1", "n2", "n3"}},
        {"what follows is about sockets",
         {"n[1-3]", "5,1(x2)", "cyclic:block:fcyclic", ""},
         cyclic},
        {"what follows is about packing", {"n[1-3]", "5,1(x2)", "block,pack", ""}, block},
        {"a plane size that no plane asks for", {"n[1-3]", "5,1(x2)", "block", "2"}, block},
    };
    for (const auto& row : rows) {
        const auto layout = derive_layout(row.environment);
        ASSERT_TRUE(layout) << row.title;
        ASSERT_TRUE(*layout) << row.title;
        EXPECT_EQ(placed(**layout), row.nodes) << row.title;
    }
}

// -N2 -n20 -O -m cyclic: even tasks on n1, odd ones on n2.
TEST(StepEnvironment, OvercommittedTasksAreDealtInTurn) {
    const auto layout = derive_layout({"n[1-2]", "10(x2)", "cyclic", ""});
    ASSERT_TRUE(layout);
    ASSERT_TRUE(*layout);
    for (std::uint32_t task = 0; task < 20; ++task) {
        EXPECT_EQ((*layout)->place(TaskId{task}).node, NodeIndex{task % 2}) << task;
    }
}

// From Slurm 26.05 on; `-m pack` says nothing of the nodes' order either.
TEST(StepEnvironment, BlockInTheOrderOfTheTopologyIsNotGuessed) {
    for (const char* distribution : {"", "block", "block:cyclic", "block,pack", "pack"}) {
        const auto layout = derive_layout({"n[1-3]", "5,1(x2)", distribution, "", true});
        ASSERT_TRUE(layout) << distribution;
        EXPECT_FALSE(layout->has_value()) << distribution;
    }
    const auto cyclic = derive_layout({"n[1-3]", "2(x3)", "cyclic", "", true});
    ASSERT_TRUE(cyclic && *cyclic);
    EXPECT_EQ(placed(**cyclic), (Names{"n1", "n2", "n3", "n1", "n2", "n3"}));
    const auto plane = derive_layout({"n[1-3]", "2(x3)", "plane", "2", true});
    ASSERT_TRUE(plane && *plane);
    EXPECT_EQ(placed(**plane), (Names{"n1", "n1", "n2", "n2", "n3", "n3"}));
}

TEST(StepEnvironment, OneNodeHasAllTasksInEveryOrder) {
    for (const char* distribution : {"", "block", "arbitrary", "pack"}) {
        const auto layout = derive_layout({"n1", "3", distribution, "", true});
        ASSERT_TRUE(layout && *layout) << distribution;
        EXPECT_EQ(placed(**layout), (Names{"n1", "n1", "n1"})) << distribution;
    }
}

// In slurmstepd, whose memory no user's number decides.
TEST(StepEnvironment, ALargerStepThanSlurmStartedIsNotExpanded) {
    const auto refusal = [](const char* nodes, const char* counts) {
        const auto layout = derive_layout({nodes, counts, "cyclic", "", false}, {2, 8});
        return layout ? std::string() : layout.error().message();
    };
    EXPECT_EQ(refusal("n[1-2]", "4(x2)"), "");
    EXPECT_EQ(refusal("n[1-2]", "5,4"),
              "distgpu: tasks per node '5,4' at character 3: more than 8 tasks; check the counts");
    EXPECT_EQ(
        refusal("n[1-2]", "1(x3)"),
        "distgpu: tasks per node '1(x3)' at character 4: more than 2 nodes; check the counts");
    EXPECT_EQ(refusal("n[1-3]", "4(x2)"),
              "distgpu: host list 'n[1-3]' at character 1: more than 2 hosts; check the ranges");
}

TEST(StepEnvironment, IsReadFromSlurmsVariables) {
    EnvironmentCopy::Variables variables{{"SLURM_STEP_NODELIST", "n[1-2]"},
                                         {"SLURM_STEP_TASKS_PER_NODE", "4(x2)"},
                                         {"SLURM_DISTRIBUTION", "plane"},
                                         {"SLURM_DIST_PLANESIZE", "2"}};
    EXPECT_EQ(read_step_environment(EnvironmentCopy(variables)),
              (StepEnvironment{"n[1-2]", "4(x2)", "plane", "2", false}));
    // Set by 26.05 and newer.
    variables["SLURM_JOB_SLUID"] = "sFZDM816855K00";
    EXPECT_EQ(read_step_environment(EnvironmentCopy(variables)),
              (StepEnvironment{"n[1-2]", "4(x2)", "plane", "2", true}));
}

TEST(StepEnvironment, BatchScriptsAndShellsAreNoTasks) {
    const auto in_step = [](std::string step, std::string nodes) {
        return in_step_of_tasks(
            EnvironmentCopy({{"SLURM_STEP_ID", step}, {"SLURM_STEP_NODELIST", nodes}}));
    };
    EXPECT_TRUE(in_step("0", "n1"));
    EXPECT_TRUE(in_step("4294967289", "n1"));
    EXPECT_FALSE(in_step("4294967290", "n1"));  // salloc's shell
    EXPECT_FALSE(in_step("0", ""));
    EXPECT_FALSE(in_step("", "n1"));
}

TEST(StepEnvironment, NothingIsGuessed) {
    struct Row {
        const char* title;
        StepEnvironment environment;
    };
    const std::vector<Row> rows = {
        {"arbitrary: the order is lost", {"n[1-3]", "2,1,2", "arbitrary", ""}},
        {"arbitrary with sockets", {"n[1-3]", "2,1,2", "arbitrary:block", ""}},
        {"a word of a later Slurm", {"n[1-3]", "2,1,2", "spiral", ""}},
        {"a word that begins like block", {"n[1-3]", "2,1,2", "blocks", ""}},
        {"plane without its size", {"n[1-3]", "6,1(x2)", "plane", ""}},
        {"plane of no task", {"n[1-3]", "6,1(x2)", "plane", "0"}},
        {"plane of a number and more", {"n[1-3]", "6,1(x2)", "plane", "2x"}},
        {"plane of a word", {"n[1-3]", "6,1(x2)", "plane", "two"}},
        {"plane past 2^32", {"n[1-3]", "6,1(x2)", "plane", "4294967298"}},
    };
    for (const auto& row : rows) {
        const auto layout = derive_layout(row.environment);
        ASSERT_TRUE(layout) << row.title;
        EXPECT_FALSE(layout->has_value()) << row.title;
    }
}

TEST(StepEnvironment, RefusalsOfTheListsAreHandedOn) {
    const auto message = [](const StepEnvironment& environment) {
        const auto layout = derive_layout(environment);
        return layout ? "" : layout.error().message();
    };
    EXPECT_EQ(message({"n[1-2]", "", "block", ""}), parse_tasks_per_node("").error().message());
    EXPECT_EQ(message({"n[1-2]", "2(2)", "arbitrary", ""}),
              parse_tasks_per_node("2(2)").error().message());
    EXPECT_EQ(message({"n[1", "2", "block", ""}), HostList::parse("n[1").error().message());
    EXPECT_EQ(message({"", "2", "block", ""}), HostList::parse("").error().message());
    EXPECT_EQ(message({"n[1-3]", "2", "block", ""}),
              "distgpu: tasks per node: counts for 1 nodes, but the host list has 3; give one "
              "count per host");
}

// Root asks slurmctld where it does not.
TEST(TellsOrder, WhereTheDistributionDealsTheTasksAlike) {
    const auto tells = [](const char* distribution, const char* plane, bool topology_order) {
        return tells_order({.node_list = "",
                            .tasks_per_node = "",
                            .distribution = distribution,
                            .plane_size = plane,
                            .topology_order = topology_order});
    };
    EXPECT_TRUE(tells("", "", false));
    EXPECT_TRUE(tells("block:cyclic,pack", "", false));
    EXPECT_FALSE(tells("", "", true));
    EXPECT_FALSE(tells("block", "", true));
    EXPECT_TRUE(tells("cyclic", "", true));
    EXPECT_TRUE(tells("plane", "4", true));
    EXPECT_FALSE(tells("plane", "", false));
    EXPECT_FALSE(tells("arbitrary", "", false));
}

}  // namespace
}  // namespace distgpu
