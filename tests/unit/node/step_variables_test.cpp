// A layout and the secret of a step on their way from the plugin to a command inside a task, and
// who wins for a variable of a task in a container.
#include "node/step_variables.h"

#include "map_environment.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

const std::string name = "SLURM_DISTGPU_LAYOUT";

MapEnvironment in_step(const char* step) {
    return MapEnvironment({{"SLURM_JOB_ID", "17"}, {"SLURM_STEP_ID", step}});
}

// Of a step whose variables tell its layout: two tasks on n1, one on n3.
MapEnvironment in_block_step() {
    MapEnvironment environment = in_step("0");
    environment.set("SLURM_STEP_NODELIST", "n[1,3]");
    environment.set("SLURM_STEP_TASKS_PER_NODE", "2,1");
    return environment;
}

StepLayout arbitrary(const std::vector<std::uint32_t>& node_of_task) {
    auto hosts = HostList::parse("n[1,3]");
    return *StepLayout::from_assignment(*std::move(hosts), node_of_task);
}

std::string refusal_of(const std::string& text) {
    MapEnvironment environment = in_step("0");
    environment.set(name, text);
    const auto layout = read_layout_variable(environment);
    if (!layout) return "none";
    return *layout ? "taken" : layout->error().message();
}

TEST(HandedLayout, ArrivesInTheStepThatItIsOf) {
    MapEnvironment environment = in_step("0");
    const StepLayout layout = arbitrary({1, 0, 1});
    set_layout_variable(environment, layout);
    EXPECT_EQ(environment.get(name), "17.0 n[1,3] 1.1.1.1,0.2.1.1");
    const auto arrived = read_layout_variable(environment);
    ASSERT_TRUE(arrived && *arrived);
    EXPECT_EQ(**arrived, layout);
    // In no step inside.
    for (const char* step : {"1", "01", ""}) {
        environment.set("SLURM_STEP_ID", step);
        EXPECT_FALSE(read_layout_variable(environment)) << step;
    }
}

// Also of a layout that the variables tell.
TEST(HandedLayout, HoldsTheOrderOfTheNodes) {
    MapEnvironment environment = in_block_step();
    const StepLayout layout = *arbitrary({0, 0, 1}).with_order({NodeIndex{1}, NodeIndex{0}});
    set_layout_variable(environment, layout);
    EXPECT_EQ(environment.get(name), "17.0 n[1,3] 0.1.2.1,1.1.1.1 n[3,1]");
    const auto arrived = read_layout_variable(environment);
    ASSERT_TRUE(arrived && *arrived);
    EXPECT_EQ(**arrived, layout);
}

TEST(HandedLayout, IsLeftOutWhereTheVariablesTellIt) {
    MapEnvironment environment = in_block_step();
    environment.set(name, "17.0 of a step outside");
    set_layout_variable(environment, arbitrary({0, 0, 1}));
    EXPECT_FALSE(environment.get(name));
    // From 26.05 on its tasks cannot know even the order of the names.
    environment.set("SLURM_JOB_SLUID", "sFZDM816855K00");
    set_layout_variable(environment, arbitrary({0, 0, 1}));
    EXPECT_EQ(environment.get(name), "17.0 n[1,3] 0.1.2.1,1.1.1.1");
    environment.set("SLURM_DISTRIBUTION", "cyclic");
    set_layout_variable(environment, arbitrary({0, 1, 0}));
    EXPECT_FALSE(environment.get(name));
    // The same counts, in another order.
    set_layout_variable(environment, arbitrary({0, 0, 1}));
    EXPECT_TRUE(environment.get(name));
}

TEST(HandedLayout, ThatNoVariableCouldHoldIsLeftOut) {
    MapEnvironment environment = in_step("0");
    std::vector<std::uint32_t> tasks;
    std::uint32_t random = 1;
    for (std::uint32_t task = 0; task < 60'000; ++task) {
        random = random * 1664525 + 1013904223;
        tasks.push_back(random >> 31U);
    }
    set_layout_variable(environment, arbitrary(tasks));
    EXPECT_FALSE(environment.get(name));
}

TEST(HandedLayout, ThatSomebodyElseWroteIsRefused) {
    EXPECT_EQ(refusal_of("17.0 n[1,3] 0.2.1.1"), "taken");
    EXPECT_EQ(refusal_of("17.1 n[1,3] 0.2.1.1"), "none");
    for (const char* text : {"17.0 ", "17.0 n1", "17.0 n1 0.1.1", "17.0 n1 0.1.1.1.1",
                             "17.0 n1 0.1.1.", "17.0 n1 0.1.1.-1", "17.0 n1 0.1.1.1,x"}) {
        const std::string message = refusal_of(text);
        EXPECT_EQ(message.find("distgpu: SLURM_DISTGPU_LAYOUT: "), 0U) << message;
        EXPECT_NE(message.find("; unset SLURM_DISTGPU_LAYOUT"), std::string::npos) << message;
    }
    for (const char* text : {"17.0 n[1,3] 0.2.1.1 n1", "17.0 n[1,3] 0.2.1.1 n[1,3,5]",
                             "17.0 n[1,3] 0.2.1.1 ", "17.0 n[1,3] 0.2.1.1 n[1,1]",
                             // More tasks, or nodes, than a step can have.
                             "17.0 n1 0.1.4294967295.1", "17.0 n1 0.2.1.1", "17.0 n[ 0.1.1.1"}) {
        EXPECT_NE(refusal_of(text), "taken") << text;
    }
}

// ---- The secret of a step, and how its tasks know it.

TEST(StepSecret, NoTwoAreAlike) {
    const auto one = draw_secret();
    const auto other = draw_secret();
    ASSERT_TRUE(one && other);
    EXPECT_NE(one->to_string(), other->to_string());
}

TEST(StepSecret, IsInAVariableOfTheTask) {
    const std::string digits = "000102030405060708090a0b0c0d0eff000102030405060708090a0b0c0d0eff";
    EXPECT_EQ(read_secret_variable(MapEnvironment({{"SLURM_DISTGPU_SECRET", digits}})),
              Secret::parse(digits));
    EXPECT_EQ(read_secret_variable(MapEnvironment()), std::nullopt);
    EXPECT_EQ(read_secret_variable(MapEnvironment({{"SLURM_DISTGPU_SECRET", "7.0 " + digits}})),
              std::nullopt);
}

// ---- Who wins for a variable of a task in a container.

using Variables = MapEnvironment::Variables;
using Settings = std::vector<ContainerSetting>;

// The variables of a task to which a container gives `value` in all of them that `step` has.
Variables put_back(const Variables& step, const std::string& value) {
    MapEnvironment task(step);
    for (const auto& variable : step) task.set(variable.first, value);
    restore_launch_variables(task, EnvironmentCopy(step));
    return task.variables();
}

TEST(PutBack, RestoresOnlyWhatAContainerMustNotDecide) {
    const Variables kept{{"OMP_NUM_THREADS", "4"},
                         {"NCCL_DEBUG", "INFO"},
                         {"CUDA_VISIBLE_DEVICES", "0,1"},
                         {"SLURM_STEP_GPUS", "2,3"},
                         {"SLURM_STEP_ID", "7"}};
    const Variables others{{"HOME", "/home/a"}, {"PATH", "/bin"}, {"SLURM_CPUS_ON_NODE", "8"}};
    Variables step = kept;
    step.insert(others.begin(), others.end());
    Variables expected = kept;
    for (const auto& variable : others) expected[variable.first] = "container";
    EXPECT_EQ(put_back(step, "container"), expected);
    // What a task sees is decided later where Slurm binds GPUs to tasks.
    const Variables bound{
        {"CUDA_VISIBLE_DEVICES", "0,1"}, {"SLURM_STEP_GPUS", "2,3"}, {"SLURM_GPUS_PER_TASK", "1"}};
    EXPECT_EQ(put_back(bound, "1"), (Variables{{"CUDA_VISIBLE_DEVICES", "1"},
                                               {"SLURM_STEP_GPUS", "1"},
                                               {"SLURM_GPUS_PER_TASK", "1"}}));
    // Whether it does is in the task's environment or in the step's.
    Variables unbound = bound;
    unbound["SLURM_GPUS_PER_TASK"] = "";
    EXPECT_EQ(put_back(unbound, ""), (Variables{{"CUDA_VISIBLE_DEVICES", "0,1"},
                                                {"SLURM_STEP_GPUS", "2,3"},
                                                {"SLURM_GPUS_PER_TASK", ""}}));
    EXPECT_EQ(put_back(bound, ""), (Variables{{"CUDA_VISIBLE_DEVICES", ""},
                                              {"SLURM_STEP_GPUS", ""},
                                              {"SLURM_GPUS_PER_TASK", ""}}));
}

TEST(PutBack, GivesTheTaskWhatItsUserExportedAndWhatSlurmSet) {
    const EnvironmentCopy launch({{"OMP_NUM_THREADS", "4"},
                                  {"CUDA_VISIBLE_DEVICES", "0,1"},
                                  {"SLURM_STEP_ID", "7"},
                                  {"NCCL_ALGO", "Ring"}});
    MapEnvironment task(Variables{{"OMP_NUM_THREADS", "1"},
                                  {"CUDA_VISIBLE_DEVICES", "0"},
                                  {"SLURM_STEP_ID", "0"},
                                  {"NCCL_ALGO", "Tree"},
                                  {"HOME", "/root"}});
    EXPECT_EQ(restore_launch_variables(task, launch), (Settings{{"NCCL_ALGO", "Tree", false}}));
    EXPECT_EQ(task.variables(), (Variables{{"OMP_NUM_THREADS", "4"},
                                           {"CUDA_VISIBLE_DEVICES", "0,1"},
                                           {"SLURM_STEP_ID", "7"},
                                           {"NCCL_ALGO", "Ring"},
                                           {"HOME", "/root"}}));
}

// Of srun's own --gpus-per-task and --gpu-bind only the task's environment tells.
TEST(PutBack, LeavesTheGpusThatSlurmBoundToTheTask) {
    const EnvironmentCopy launch(
        {{"CUDA_VISIBLE_DEVICES", "0,1"}, {"SLURM_STEP_GPUS", "0,1"}, {"OMP_NUM_THREADS", "4"}});
    MapEnvironment task(Variables{{"CUDA_VISIBLE_DEVICES", "1"},
                                  {"SLURM_STEP_GPUS", "1"},
                                  {"SLURMD_TRES_BIND", "gpu:per_task:1"},
                                  {"OMP_NUM_THREADS", "1"}});
    restore_launch_variables(task, launch);
    EXPECT_EQ(task.get("CUDA_VISIBLE_DEVICES"), "1");
    EXPECT_EQ(task.get("SLURM_STEP_GPUS"), "1");
    EXPECT_EQ(task.get("OMP_NUM_THREADS"), "4");
}

TEST(PutBack, LeavesWhatTheContainerAloneSets) {
    const Variables container{
        {"UCX_TLS", "tcp"}, {"GLOO_X", "1"}, {"OMP_NUM_THREADS", "1"}, {"XNCCL_DEBUG", "1"}};
    MapEnvironment task(container);
    EXPECT_EQ(restore_launch_variables(task, EnvironmentCopy()),
              (Settings{{"GLOO_X", "1", true}, {"UCX_TLS", "tcp", true}}));
    EXPECT_EQ(task.variables(), container);
}

// What the tasks of an outer step got from distgpu is no export of their user's.
TEST(PutBack, TakesWhatAnOuterStepGaveForNobodysExport) {
    const Variables step{{"SLURM_DISTGPU_GIVEN", "OMP_NUM_THREADS=8 NCCL_SOCKET_IFNAME==eth0"},
                         {"OMP_NUM_THREADS", "8"},
                         {"NCCL_SOCKET_IFNAME", "=eth0"}};
    MapEnvironment plain(step);
    EXPECT_EQ(restore_launch_variables(plain, EnvironmentCopy(step)), Settings{});
    EXPECT_EQ(plain.variables(), step);
    Variables container = step;
    container["OMP_NUM_THREADS"] = "1";
    container["NCCL_SOCKET_IFNAME"] = "eth9";
    MapEnvironment task(container);
    EXPECT_EQ(restore_launch_variables(task, EnvironmentCopy(step)),
              (Settings{{"NCCL_SOCKET_IFNAME", "eth9", true}}));
    EXPECT_EQ(task.variables(), container);
}

TEST(ContainerNotes, NameWhatDiffersFromTheUserAndFromDistgpu) {
    TaskPlan task;
    task.overridden_by_user = {{"NCCL_SOCKET_IFNAME", "=eth0"}, {"GLOO_SOCKET_IFNAME", "eth0"}};
    const Settings settings{{"GLOO_SOCKET_IFNAME", "eth0", true},
                            {"NCCL_DEBUG", "WARN\n", false},
                            {"NCCL_SOCKET_IFNAME", "eth9", true},
                            {"UCX_TLS", "tcp", true}};
    const ContainerNotes notes = container_notes(settings, task);
    EXPECT_EQ(notes.lines,
              (std::vector<std::string>{
                  "distgpu: NCCL_DEBUG: the container sets 'WARN?', you exported another value; "
                  "yours is used",
                  "distgpu: NCCL_SOCKET_IFNAME: the container sets 'eth9', distgpu would set "
                  "'=eth0'; the container's is used, export the variable to choose"}));
    EXPECT_EQ(notes.variable_value, "NCCL_DEBUG:export NCCL_SOCKET_IFNAME:container");
    EXPECT_EQ(container_notes({}, task).variable_value, "");
}

}  // namespace
}  // namespace distgpu
