// The layout and the shape of a step by its variables.
#include "slurm/step_shape.h"

#include "base/environment.h"
#include "mapping/message_of.h"

#include <gtest/gtest.h>

#include <map>

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

EnvironmentCopy step_of(const char* nodes, const char* tasks, const char* distribution,
                        const char* plane = "", bool newer = false) {
    return EnvironmentCopy({{"SLURM_STEP_NODELIST", nodes},
                            {"SLURM_STEP_TASKS_PER_NODE", tasks},
                            {"SLURM_DISTRIBUTION", distribution},
                            {"SLURM_DIST_PLANESIZE", plane},
                            // Set by 26.05 and newer.
                            {"SLURM_JOB_SLUID", newer ? "sFZDM816855K00" : ""}});
}

TEST(StepEnvironment, BlockCyclicAndPlaneAreDerivedAndNothingIsGuessed) {
    struct Row {
        const char* title;
        EnvironmentCopy environment;
        Names nodes;  // empty: not known
    };
    const Names block{"n1", "n1", "n1", "n1", "n1", "n2", "n3"};
    const Names cyclic{"n1", "n2", "n3", "n1", "n1", "n1", "n1"};
    const std::vector<Row> rows = {
        {"-N3 -n7 -m block", step_of("n[1-3]", "5,1(x2)", "block"), block},
        {"-N3 -n7", step_of("n[1-3]", "5,1(x2)", ""), block},
        {"-N3 -n7 -m cyclic", step_of("n[1-3]", "5,1(x2)", "cyclic"), cyclic},
        {"-N3 -n8 -m plane=2",
         step_of("n[1-3]", "6,1(x2)", "plane", "2"),
         {"n1", "n1", "n2", "n3", "n1", "n1", "n1", "n1"}},
        {"-N3 -n3, unset stands for cyclic", step_of("n[1-3]", "1(x3)", ""), {"n1", "n2", "n3"}},
        {"what follows is about sockets", step_of("n[1-3]", "5,1(x2)", "cyclic:block:fcyclic"),
         cyclic},
        {"what follows is about packing", step_of("n[1-3]", "5,1(x2)", "block,pack"), block},
        {"a plane size that no plane asks for", step_of("n[1-3]", "5,1(x2)", "block", "2"), block},
        {"arbitrary: the order is lost", step_of("n[1-3]", "2,1,2", "arbitrary"), {}},
        {"arbitrary with sockets", step_of("n[1-3]", "2,1,2", "arbitrary:block"), {}},
        {"a word of a later Slurm", step_of("n[1-3]", "2,1,2", "spiral"), {}},
        {"a word that begins like block", step_of("n[1-3]", "2,1,2", "blocks"), {}},
        {"plane without its size", step_of("n[1-3]", "6,1(x2)", "plane"), {}},
        {"plane of no task", step_of("n[1-3]", "6,1(x2)", "plane", "0"), {}},
        {"plane of a number and more", step_of("n[1-3]", "6,1(x2)", "plane", "2x"), {}},
        {"plane of a word", step_of("n[1-3]", "6,1(x2)", "plane", "two"), {}},
        {"plane past 2^32", step_of("n[1-3]", "6,1(x2)", "plane", "4294967298"), {}},
    };
    for (const auto& row : rows) {
        const auto layout = derive_layout(row.environment);
        ASSERT_TRUE(layout) << row.title;
        EXPECT_EQ(*layout ? placed(**layout) : Names{}, row.nodes) << row.title;
    }
}

// From Slurm 26.05 on; `-m pack` says nothing of the nodes' order either.
TEST(StepEnvironment, BlockInTheOrderOfTheTopologyIsNotGuessed) {
    const auto nodes_of = [](const char* nodes, const char* tasks, const char* distribution) {
        const auto layout = derive_layout(step_of(nodes, tasks, distribution, "2", true));
        return layout && *layout ? placed(**layout) : Names{};
    };
    for (const char* distribution : {"", "block", "block:cyclic", "block,pack", "pack"}) {
        EXPECT_EQ(nodes_of("n[1-3]", "5,1(x2)", distribution), Names{}) << distribution;
    }
    EXPECT_EQ(nodes_of("n[1-3]", "2(x3)", "cyclic"), (Names{"n1", "n2", "n3", "n1", "n2", "n3"}));
    EXPECT_EQ(nodes_of("n[1-3]", "2(x3)", "plane"), (Names{"n1", "n1", "n2", "n2", "n3", "n3"}));
    // One node has all tasks in every order.
    for (const char* distribution : {"", "block", "arbitrary", "pack"}) {
        EXPECT_EQ(nodes_of("n1", "3", distribution), (Names{"n1", "n1", "n1"})) << distribution;
    }
}

// In slurmstepd, whose memory no user's number decides.
TEST(StepEnvironment, ALargerStepThanSlurmStartedIsNotExpanded) {
    const auto refusal = [](const char* nodes, const char* counts) {
        return message_of(derive_layout(step_of(nodes, counts, "cyclic"), {2, 8}));
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

TEST(StepEnvironment, BatchScriptsAndShellsAreNoTasks) {
    const auto in_step = [](std::string step, std::string nodes) {
        return is_srun_task(
            EnvironmentCopy({{"SLURM_STEP_ID", step}, {"SLURM_STEP_NODELIST", nodes}}));
    };
    EXPECT_TRUE(in_step("0", "n1"));
    EXPECT_TRUE(in_step("4294967289", "n1"));
    EXPECT_FALSE(in_step("4294967290", "n1"));  // salloc's shell
    EXPECT_FALSE(in_step("0", ""));
    EXPECT_FALSE(in_step("", "n1"));
}

TEST(StepEnvironment, RefusalsOfTheListsAreHandedOn) {
    EXPECT_EQ(message_of(derive_layout(step_of("n[1-2]", "2(2)", "arbitrary"))),
              message_of(parse_tasks_per_node("2(2)")));
    EXPECT_EQ(message_of(derive_layout(step_of("n[1", "2", "block"))),
              message_of(HostList::parse("n[1")));
    EXPECT_EQ(message_of(derive_layout(step_of("n[1-3]", "2", "block"))),
              "distgpu: tasks per node: counts for 1 nodes, but the host list has 3; give one "
              "count per host");
}

// In srun, where SLURM_NODELIST and SLURM_NNODES are its job's.
struct NewStep {
    std::map<std::string, std::string> variables{{"SLURM_NODELIST", "n[1-3]"},
                                                 {"SLURM_NNODES", "3"},
                                                 {"SLURM_NTASKS", "7"},
                                                 {"SLURM_TASKS_PER_NODE", "5,1(x2)"}};
    StepSize size{3, 7};
    std::vector<std::string> line{"srun"};
    bool topology_order = false;

    NewStep with(std::map<std::string, std::string> changed) const {
        NewStep step = *this;
        changed.merge(step.variables);
        step.variables = std::move(changed);
        return step;
    }
    Names placed_tasks() const {
        const auto layout = derive_new_layout(EnvironmentCopy(variables),
                                              parse_slurm_line(line, SlurmCommand::srun).options,
                                              size, topology_order);
        return layout ? placed(*layout) : Names{};
    }
};

TEST(NewStep, OnAllNodesOfItsJobIsDerived) {
    const Names block{"n1", "n1", "n1", "n1", "n1", "n2", "n3"};
    const NewStep step;
    EXPECT_EQ(step.placed_tasks(), block);
    EXPECT_EQ(step.with({{"SLURM_DISTRIBUTION", "block,pack"}}).placed_tasks(), block);
    EXPECT_EQ(step.with({{"SLURM_DISTRIBUTION", "cyclic"}}).placed_tasks(),
              (Names{"n1", "n2", "n3", "n1", "n1", "n1", "n1"}));
    EXPECT_EQ(
        step.with({{"SLURM_DISTRIBUTION", "plane"}, {"SLURM_DIST_PLANESIZE", "2"}}).placed_tasks(),
        (Names{"n1", "n1", "n2", "n3", "n1", "n1", "n1"}));
    // A variable of 26.05, whose release is known here.
    EXPECT_EQ(step.with({{"SLURM_JOB_SLUID", "sFZDM816855K00"}}).placed_tasks(), block);
    NewStep one = step.with({{"SLURM_NODELIST", "n2"},
                             {"SLURM_NNODES", "1"},
                             {"SLURM_NTASKS", "2"},
                             {"SLURM_TASKS_PER_NODE", "2"}});
    one.size = {1, 2};
    one.topology_order = true;
    EXPECT_EQ(one.placed_tasks(), (Names{"n2", "n2"}));
    NewStep named = step;
    named.line = {"srun", "--nodes=3", "-w", "n[1-3]"};
    EXPECT_EQ(named.placed_tasks(), block);
}

TEST(NewStep, IsNotGuessed) {
    const NewStep step;
    const auto expect_unknown = [](const char* title, const NewStep& unknown) {
        EXPECT_EQ(unknown.placed_tasks(), Names{}) << title;
    };
    NewStep changed = step;
    changed.topology_order = true;
    expect_unknown("block in the order of the topology", changed);
    changed = step.with({{"SLURM_TASKS_PER_NODE", "5,2"}});
    changed.size = {2, 7};
    expect_unknown("some of the job's nodes", changed);
    for (const char* nodes : {"2-3", "2,3", "1-3:2"}) {
        changed = step;
        changed.line = {"srun", std::string("--nodes=") + nodes};
        expect_unknown(nodes, changed);
    }
    expect_unknown("arbitrary", step.with({{"SLURM_DISTRIBUTION", "arbitrary"}}));
    expect_unknown("a host file", step.with({{"SLURM_HOSTFILE", "hosts"}}));
    expect_unknown("--overcommit", step.with({{"SLURM_OVERCOMMIT", "1"}}));
    expect_unknown("a part of a heterogeneous step", step.with({{"SLURM_NTASKS", "10"}}));
    expect_unknown("counts of another step", step.with({{"SLURM_TASKS_PER_NODE", "5,1"}}));
    expect_unknown("fewer tasks", step.with({{"SLURM_TASKS_PER_NODE", "4,1(x2)"}}));
    expect_unknown("no counts", step.with({{"SLURM_TASKS_PER_NODE", ""}}));
    expect_unknown("an old list of nodes", step.with({{"SLURM_NODELIST", "n[1-4]"}}));
    expect_unknown("a list that is none", step.with({{"SLURM_NODELIST", "n["}}));
    expect_unknown("a word of a later Slurm", step.with({{"SLURM_DISTRIBUTION", "spiral"}}));
}

// Root asks slurmctld where it does not.
TEST(IsOrderKnown, WhereTheDistributionDealsTheTasksAlike) {
    const auto tells = [](const char* distribution, const char* plane, bool topology_order) {
        const bool by_release =
            is_order_known(step_of("", "", distribution, plane), topology_order);
        EXPECT_EQ(by_release, is_order_known(step_of("", "", distribution, plane, topology_order)));
        return by_release;
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

// ---- The shape of a step from Slurm's variables.

using Variables = EnvironmentCopy::Variables;

Result<std::optional<SlurmShape>> complete(const ShapeOptions& given, Variables variables) {
    return complete_from_slurm(given, EnvironmentCopy(std::move(variables)));
}

// Of a job.
SlurmShape shape_of(const ShapeOptions& given, Variables variables) {
    const auto shape = complete(given, std::move(variables));
    EXPECT_TRUE(shape && *shape);
    return shape && *shape ? **shape : SlurmShape{};
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
    const SlurmShape shape = shape_of({}, allocation());
    EXPECT_EQ(shape.options.layout, (LayoutText{.nodelist = "n[1-4]", .tasks_per_node = "2(x4)"}));
    EXPECT_EQ(shape.options.gpus_per_node, "2");
    EXPECT_EQ(shape.options.cpus_per_task, "6");
    EXPECT_EQ(shape.step, (StepId{42, 0, 0}));
    EXPECT_EQ(shape.read, (std::vector<std::string>{"SLURM_JOB_NODELIST", "SLURM_TASKS_PER_NODE",
                                                    "SLURM_GPUS_ON_NODE", "SLURM_CPUS_PER_TASK",
                                                    "SLURM_JOB_ID"}));
}

TEST(SlurmShape, OfAStepAndNotOfItsAllocation) {
    Variables variables = step();
    variables["SLURM_RESTART_COUNT"] = "1";
    const SlurmShape shape = shape_of({}, variables);
    EXPECT_EQ(shape.options.layout, (LayoutText{.nodelist = "n[3-4]", .tasks_per_node = "1(x2)"}));
    EXPECT_EQ(shape.step, (StepId{42, 3, 1}));
    // In salloc's shell, where slurm.conf has use_interactive_step: a step on one node.
    variables["SLURM_STEP_ID"] = "4294967290";
    EXPECT_EQ(shape_of({}, variables).options.layout,
              (LayoutText{.nodelist = "n[1-4]", .tasks_per_node = "2(x4)"}));
}

// srun reads SRUN_CPUS_PER_TASK; in a task, SLURM_CPUS_PER_TASK tells what came of it.
TEST(SlurmShape, CpusThatSrunTakesFromItsVariable) {
    Variables variables = allocation();
    variables["SRUN_CPUS_PER_TASK"] = "3";
    SlurmShape shape = shape_of({}, variables);
    EXPECT_EQ(shape.options.cpus_per_task, "3");
    variables = step();
    variables["SRUN_CPUS_PER_TASK"] = "3";
    shape = shape_of({}, variables);
    EXPECT_EQ(shape.options.cpus_per_task, "6");
}

TEST(SlurmShape, WhatTheUserGivesStays) {
    ShapeOptions given;
    given.layout.ntasks = "4";
    given.gpu_list = "1";
    given.cpus_per_task = "3";
    const SlurmShape shape = shape_of(given, allocation());
    EXPECT_EQ(shape.options.layout, (LayoutText{.nodelist = "n[1-4]", .ntasks = "4"}));
    EXPECT_EQ(shape.options.gpus_per_node, "");
    EXPECT_EQ(shape.options.cpus_per_task, "3");
}

// The number of all nodes' GPUs is the user's, so that of one node does not count.
TEST(SlurmShape, GpusOfAllNodesOrOfOne) {
    ShapeOptions given;
    given.gpus = "4";
    SlurmShape shape = shape_of(given, allocation());
    EXPECT_EQ(shape.options.gpus_per_node, "");
    EXPECT_EQ(shape.options.gpus_variable, "");
    shape = shape_of({}, allocation());
    EXPECT_EQ(shape.options.gpus_variable, "SLURM_GPUS_ON_NODE");
}

TEST(SlurmShape, OtherNodesOrNoJobReadNothing) {
    const auto reads = [](const LayoutText& layout, const Variables& variables) {
        return complete(ShapeOptions{.layout = layout}, variables)->has_value();
    };
    EXPECT_FALSE(reads({.nodes = "8"}, allocation()));
    EXPECT_FALSE(reads({.nodelist = "x1"}, allocation()));
    EXPECT_FALSE(reads({}, {}));
}

TEST(SlurmShape, Distributions) {
    for (const auto& [variable, distribution] :
         {std::pair{"block:cyclic,pack", "block"}, {"cyclic", "cyclic"}, {"plane", "plane=2"}}) {
        Variables variables = step();
        variables["SLURM_DISTRIBUTION"] = variable;
        variables["SLURM_DIST_PLANESIZE"] = "2";
        EXPECT_EQ(shape_of({}, variables).options.layout.distribution, distribution);
    }
    Variables variables = allocation();
    variables["SLURM_DISTRIBUTION"] = "arbitrary";
    EXPECT_FALSE(complete({}, variables));
    ShapeOptions given;
    given.layout.distribution = "arbitrary=n4,n3";
    const SlurmShape shape = shape_of(given, variables);
    EXPECT_EQ(shape.options.layout.distribution, "arbitrary=n4,n3");
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

}  // namespace
}  // namespace distgpu
