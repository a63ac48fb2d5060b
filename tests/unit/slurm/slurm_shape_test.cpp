// The shape of a step from Slurm's variables.
#include "slurm/slurm_shape.h"

#include "base/environment_copy.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace distgpu {
namespace {

using Variables = EnvironmentCopy::Variables;

Result<std::optional<SlurmShape>> complete(const ShapeOptions& given, Variables variables) {
    return complete_from_slurm(given, EnvironmentCopy(std::move(variables)));
}

Variables allocation() {
    return {{"SLURM_JOB_ID", "42"},
            {"SLURM_JOB_NODELIST", "n[1-4]"},
            {"SLURM_TASKS_PER_NODE", "2(x4)"},
            {"SLURM_GPUS_ON_NODE", "2"},
            {"SLURM_CPUS_PER_TASK", "6"}};
}

Variables step() {
    Variables variables = allocation();
    variables.insert({{"SLURM_STEP_ID", "3"},
                      {"SLURM_STEP_NODELIST", "n[3-4]"},
                      {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"}});
    return variables;
}

TEST(SlurmShape, OfAnAllocation) {
    const auto shape = complete({}, allocation());
    ASSERT_TRUE(shape);
    ASSERT_TRUE(*shape);
    EXPECT_EQ((*shape)->options.layout,
              (LayoutText{.nodelist = "n[1-4]", .tasks_per_node = "2(x4)"}));
    EXPECT_EQ((*shape)->options.gpus_per_node, "2");
    EXPECT_EQ((*shape)->options.cpus_per_task, "6");
    EXPECT_EQ((*shape)->step, (StepId{42, 0, 0}));
    EXPECT_EQ((*shape)->read, (std::vector<std::string>{
                                  "SLURM_JOB_NODELIST", "SLURM_TASKS_PER_NODE",
                                  "SLURM_GPUS_ON_NODE", "SLURM_CPUS_PER_TASK", "SLURM_JOB_ID"}));
}

TEST(SlurmShape, OfAStepAndNotOfItsAllocation) {
    Variables variables = step();
    variables["SLURM_RESTART_COUNT"] = "1";
    const auto shape = complete({}, variables);
    ASSERT_TRUE(shape);
    ASSERT_TRUE(*shape);
    EXPECT_EQ((*shape)->options.layout,
              (LayoutText{.nodelist = "n[3-4]", .tasks_per_node = "1(x2)"}));
    EXPECT_EQ((*shape)->step, (StepId{42, 3, 1}));
}

// srun reads SRUN_CPUS_PER_TASK; in a task, SLURM_CPUS_PER_TASK tells what came of it.
TEST(SlurmShape, CpusThatSrunTakesFromItsVariable) {
    Variables variables = allocation();
    variables["SRUN_CPUS_PER_TASK"] = "3";
    auto shape = complete({}, variables);
    ASSERT_TRUE(shape);
    ASSERT_TRUE(*shape);
    EXPECT_EQ((*shape)->options.cpus_per_task, "3");
    variables = step();
    variables["SRUN_CPUS_PER_TASK"] = "3";
    shape = complete({}, variables);
    ASSERT_TRUE(shape);
    ASSERT_TRUE(*shape);
    EXPECT_EQ((*shape)->options.cpus_per_task, "6");
}

TEST(SlurmShape, WhatTheUserGivesStays) {
    ShapeOptions given;
    given.layout.ntasks = "4";
    given.gpu_list = "1";
    given.cpus_per_task = "3";
    const auto shape = complete(given, allocation());
    ASSERT_TRUE(shape);
    ASSERT_TRUE(*shape);
    EXPECT_EQ((*shape)->options.layout, (LayoutText{.nodelist = "n[1-4]", .ntasks = "4"}));
    EXPECT_EQ((*shape)->options.gpus_per_node, "");
    EXPECT_EQ((*shape)->options.cpus_per_task, "3");
}

// The number of all nodes' GPUs is the user's, so that of one node does not count.
TEST(SlurmShape, GpusOfAllNodesOrOfOne) {
    ShapeOptions given;
    given.gpus = "4";
    auto shape = complete(given, allocation());
    ASSERT_TRUE(shape);
    ASSERT_TRUE(*shape);
    EXPECT_EQ((*shape)->options.gpus_per_node, "");
    EXPECT_EQ((*shape)->options.gpus_variable, "");
    shape = complete({}, allocation());
    ASSERT_TRUE(shape);
    ASSERT_TRUE(*shape);
    EXPECT_EQ((*shape)->options.gpus_variable, "SLURM_GPUS_ON_NODE");
}

TEST(SlurmShape, OtherNodesOrNoJobReadNothing) {
    ShapeOptions given;
    given.layout.nodes = "8";
    auto shape = complete(given, allocation());
    ASSERT_TRUE(shape);
    EXPECT_FALSE(*shape);
    given.layout = {.nodelist = "x1"};
    shape = complete(given, allocation());
    ASSERT_TRUE(shape);
    EXPECT_FALSE(*shape);
    shape = complete({}, {});
    ASSERT_TRUE(shape);
    EXPECT_FALSE(*shape);
}

TEST(SlurmShape, Distributions) {
    struct Row {
        const char* variable;
        const char* distribution;
    };
    for (const auto& [variable, distribution] :
         {Row{"block:cyclic,pack", "block"}, Row{"cyclic", "cyclic"}, Row{"plane", "plane=2"}}) {
        Variables variables = step();
        variables["SLURM_DISTRIBUTION"] = variable;
        variables["SLURM_DIST_PLANESIZE"] = "2";
        const auto shape = complete({}, variables);
        ASSERT_TRUE(shape);
        EXPECT_EQ((*shape)->options.layout.distribution, distribution);
    }
    Variables variables = allocation();
    variables["SLURM_DISTRIBUTION"] = "arbitrary";
    EXPECT_FALSE(complete({}, variables));
    ShapeOptions given;
    given.layout.distribution = "arbitrary=n4,n3";
    const auto shape = complete(given, variables);
    ASSERT_TRUE(shape);
    ASSERT_TRUE(*shape);
    EXPECT_EQ((*shape)->options.layout.distribution, "arbitrary=n4,n3");
}

// In which order the nodes get their tasks: of a step Slurm can be asked.
TEST(SlurmShape, Order) {
    const auto order = [](Variables variables, const Variables& more, ShapeOptions given = {}) {
        for (const auto& [name, value] : more) variables[name] = value;
        const auto shape = complete(given, variables);
        return shape && *shape ? std::optional((*shape)->order) : std::nullopt;
    };
    const Variables arbitrary{{"SLURM_DISTRIBUTION", "arbitrary"}};
    const Variables newer{{"SLURM_JOB_SLUID", "sFZDM816855K00"}};
    const Variables newer_cyclic{{"SLURM_JOB_SLUID", "s"}, {"SLURM_DISTRIBUTION", "cyclic"}};
    EXPECT_EQ(order(allocation(), {}), NodeOrder::known);
    EXPECT_EQ(order(step(), {}), NodeOrder::known);
    EXPECT_EQ(order(step(), arbitrary), NodeOrder::of_step);
    EXPECT_EQ(order(allocation(), newer), NodeOrder::topology);
    EXPECT_EQ(order(step(), newer), NodeOrder::of_step);
    EXPECT_EQ(order(allocation(), newer_cyclic), NodeOrder::known);
    EXPECT_EQ(order(step(), newer_cyclic), NodeOrder::known);
    // On one node there is no order, and what the user says counts.
    EXPECT_EQ(order(step(), {{"SLURM_JOB_SLUID", "s"}, {"SLURM_STEP_NUM_NODES", "1"}}),
              NodeOrder::known);
    ShapeOptions given;
    given.layout.ntasks = "8";
    EXPECT_EQ(order(step(), newer, given), NodeOrder::topology);
    given.layout.distribution = "block";
    EXPECT_EQ(order(step(), newer, given), NodeOrder::known);
}

// Of salloc where slurm.conf has use_interactive_step: a step on one node.
TEST(SlurmShape, InTheShellOfAnAllocation) {
    Variables variables = step();
    variables["SLURM_STEP_ID"] = "4294967290";
    const auto shape = complete({}, variables);
    ASSERT_TRUE(shape);
    ASSERT_TRUE(*shape);
    EXPECT_EQ((*shape)->options.layout,
              (LayoutText{.nodelist = "n[1-4]", .tasks_per_node = "2(x4)"}));
}

}  // namespace
}  // namespace distgpu
