// Who wins for a variable of a task in a container.
#include "node/launch_variables.h"

#include "map_environment.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace distgpu {
namespace {

using Variables = MapEnvironment::Variables;
using Settings = std::vector<ContainerSetting>;

EnvironmentCopy launched_with(const Variables& step) {
    return read_launch_variables(MapEnvironment(step));
}

TEST(LaunchVariables, AreThoseThatAContainerMustNotDecide) {
    const Variables step{{"OMP_NUM_THREADS", "4"},
                         {"NCCL_DEBUG", "INFO"},
                         {"CUDA_VISIBLE_DEVICES", "0,1"},
                         {"SLURM_STEP_GPUS", "2,3"},
                         {"SLURM_STEP_ID", "7"}};
    Variables more = step;
    more.insert({{"HOME", "/home/a"}, {"PATH", "/bin"}, {"SLURM_CPUS_ON_NODE", "8"}});
    EXPECT_EQ(launched_with(more).variables(), step);
}

// What a task sees is then decided later.
TEST(LaunchVariables, HaveNoGpusWhereSlurmBindsThemToTasks) {
    EXPECT_EQ(launched_with({{"CUDA_VISIBLE_DEVICES", "0,1"},
                             {"SLURM_STEP_GPUS", "2,3"},
                             {"SLURM_GPUS_PER_TASK", "1"}})
                  .variables(),
              Variables{});
}

TEST(PutBack, GivesTheTaskWhatItsUserExportedAndWhatSlurmSet) {
    const auto launch = launched_with({{"OMP_NUM_THREADS", "4"},
                                       {"CUDA_VISIBLE_DEVICES", "0,1"},
                                       {"SLURM_STEP_ID", "7"},
                                       {"NCCL_ALGO", "Ring"}});
    MapEnvironment task(Variables{{"OMP_NUM_THREADS", "1"},
                                  {"CUDA_VISIBLE_DEVICES", "0"},
                                  {"SLURM_STEP_ID", "0"},
                                  {"NCCL_ALGO", "Tree"},
                                  {"HOME", "/root"}});
    EXPECT_EQ(put_back(task, launch), (Settings{{"NCCL_ALGO", "Tree", false}}));
    EXPECT_EQ(task.variables(), (Variables{{"OMP_NUM_THREADS", "4"},
                                           {"CUDA_VISIBLE_DEVICES", "0,1"},
                                           {"SLURM_STEP_ID", "7"},
                                           {"NCCL_ALGO", "Ring"},
                                           {"HOME", "/root"}}));
}

// Of srun's own --gpus-per-task and --gpu-bind only the task's environment tells.
TEST(PutBack, LeavesTheGpusThatSlurmBoundToTheTask) {
    const auto launch = launched_with(
        {{"CUDA_VISIBLE_DEVICES", "0,1"}, {"SLURM_STEP_GPUS", "0,1"}, {"OMP_NUM_THREADS", "4"}});
    MapEnvironment task(Variables{{"CUDA_VISIBLE_DEVICES", "1"},
                                  {"SLURM_STEP_GPUS", "1"},
                                  {"SLURMD_TRES_BIND", "gpu:per_task:1"},
                                  {"OMP_NUM_THREADS", "1"}});
    put_back(task, launch);
    EXPECT_EQ(task.get("CUDA_VISIBLE_DEVICES"), "1");
    EXPECT_EQ(task.get("SLURM_STEP_GPUS"), "1");
    EXPECT_EQ(task.get("OMP_NUM_THREADS"), "4");
}

TEST(PutBack, LeavesWhatTheContainerAloneSets) {
    const Variables container{
        {"UCX_TLS", "tcp"}, {"GLOO_X", "1"}, {"OMP_NUM_THREADS", "1"}, {"XNCCL_DEBUG", "1"}};
    MapEnvironment task(container);
    EXPECT_EQ(put_back(task, launched_with({})),
              (Settings{{"GLOO_X", "1", true}, {"UCX_TLS", "tcp", true}}));
    EXPECT_EQ(task.variables(), container);
}

TEST(PutBack, SaysNothingWhereNothingDiffers) {
    const Variables step{{"NCCL_DEBUG", "INFO"}, {"OMP_NUM_THREADS", "4"}};
    MapEnvironment task(step);
    EXPECT_EQ(put_back(task, launched_with(step)), Settings{});
    EXPECT_EQ(task.variables(), step);
}

// What the tasks of an outer step got from distgpu is no export of their user's.
TEST(PutBack, TakesWhatAnOuterStepGaveForNobodysExport) {
    const Variables step{{"SLURM_DISTGPU_GIVEN", "OMP_NUM_THREADS=8 NCCL_SOCKET_IFNAME==eth0"},
                         {"OMP_NUM_THREADS", "8"},
                         {"NCCL_SOCKET_IFNAME", "=eth0"}};
    MapEnvironment plain(step);
    EXPECT_EQ(put_back(plain, launched_with(step)), Settings{});
    Variables container = step;
    container["OMP_NUM_THREADS"] = "1";
    container["NCCL_SOCKET_IFNAME"] = "eth9";
    MapEnvironment task(container);
    EXPECT_EQ(put_back(task, launched_with(step)),
              (Settings{{"NCCL_SOCKET_IFNAME", "eth9", true}}));
    EXPECT_EQ(task.variables(), container);
}

TEST(ContainerLines, NameWhatDiffersFromTheUserAndFromDistgpu) {
    TaskPlan task;
    task.yielded = {{"NCCL_SOCKET_IFNAME", "=eth0"}, {"GLOO_SOCKET_IFNAME", "eth0"}};
    const Settings settings{{"GLOO_SOCKET_IFNAME", "eth0", true},
                            {"NCCL_DEBUG", "WARN\n", false},
                            {"NCCL_SOCKET_IFNAME", "eth9", true},
                            {"UCX_TLS", "tcp", true}};
    EXPECT_EQ(container_lines(settings, task),
              (std::vector<std::string>{
                  "distgpu: NCCL_DEBUG: the container sets 'WARN?', you exported another value; "
                  "yours is used",
                  "distgpu: NCCL_SOCKET_IFNAME: the container sets 'eth9', distgpu would set "
                  "'=eth0'; the container's is used, export the variable to choose"}));
    EXPECT_EQ(container_mark(settings, task), "NCCL_DEBUG:export NCCL_SOCKET_IFNAME:container");
    EXPECT_EQ(container_mark({}, task), "");
}

}  // namespace
}  // namespace distgpu
