// A task's variables and CPUs, as check judges them.
#include "check/checks.h"
#include "made_up_folder.h"
#include "map_environment.h"
#include "tools/findings_text.h"
#include "tools/made_up_task.h"

#include <gtest/gtest.h>

#include <string>

namespace distgpu {
namespace {

using Variables = MapEnvironment::Variables;

std::string cpus(const char* list, const Variables& variables) {
    return text(check_cpus(MapEnvironment(variables), *CpuSet::parse(list)));
}

TEST(CheckCpus, AreEnoughOrFewerThanAskedFor) {
    EXPECT_EQ(cpus("0-3", {{"SLURM_CPUS_PER_TASK", "4"},
                           {"OMP_NUM_THREADS", "4"},
                           {"CUDA_VISIBLE_DEVICES", "0"}}),
              "");
    EXPECT_EQ(cpus("0", {}), "");
    EXPECT_EQ(cpus("0-2", {{"SLURM_CPUS_PER_TASK", "4"}}),
              "warning CPUs: only 3 of the 4 that --cpus-per-task asks for\n");
    EXPECT_EQ(cpus("0", {{"OMP_NUM_THREADS", "2"}}),
              "warning OMP_NUM_THREADS: 2 threads for 1 CPU\n");
    EXPECT_EQ(cpus("0-2", {{"OMP_NUM_THREADS", "4"}}),
              "warning OMP_NUM_THREADS: 4 threads for 3 CPUs\n");
    EXPECT_EQ(cpus("0", {{"CUDA_VISIBLE_DEVICES", "0"}}),
              "warning CPUs: only one for a process with a GPU\n");
}

TEST(CheckLimits, OfOpenFiles) {
    MadeUpFolder folder;
    folder.write("shm/x", "");
    const MachineRoots roots{.dev = folder.path()};
    EXPECT_EQ(text(check_limits(256, roots)), "");
    EXPECT_EQ(text(check_limits(255, roots)),
              "failed open files: limited to 255, but NCCL and data loaders need more\n");
}

TEST(CheckLimits, OfSharedMemory) {
    MadeUpFolder folder;
    EXPECT_EQ(text(check_limits(1024, {.dev = folder.path()})),
              "failed " + folder.path("shm") +
                  ": No such file or directory; ranks of a node and data loaders exchange data "
                  "there\n");
    EXPECT_EQ(text(check_limits(1024)), "");
}

TEST(CheckCpus, FewerThanAskedForAreOneCause) {
    EXPECT_EQ(cpus("0", {{"SLURM_CPUS_PER_TASK", "2"},
                         {"OMP_NUM_THREADS", "2"},
                         {"CUDA_VISIBLE_DEVICES", "0"}}),
              "warning CPUs: only 1 of the 2 that --cpus-per-task asks for\n");
    EXPECT_EQ(cpus("0", {{"SLURM_CPUS_PER_TASK", "2"}, {"OMP_NUM_THREADS", "3"}}),
              "warning CPUs: only 1 of the 2 that --cpus-per-task asks for\n"
              "warning OMP_NUM_THREADS: 3 threads for 1 CPU\n");
}

TEST(CheckCpus, WhoGaveCpusPerTaskIsNotToldToGiveIt) {
    const auto remedy = [](const Variables& variables) {
        return check_cpus(MapEnvironment(variables), *CpuSet::parse("0")).front().error.remedy;
    };
    EXPECT_EQ(remedy({{"CUDA_VISIBLE_DEVICES", "0"}}), "use srun --cpus-per-task=N");
    EXPECT_EQ(remedy({{"CUDA_VISIBLE_DEVICES", "0"}, {"SLURM_CPUS_PER_TASK", "1"}}),
              "give a larger --cpus-per-task");
    EXPECT_EQ(remedy({{"OMP_NUM_THREADS", "2"}, {"SLURM_CPUS_PER_TASK", "1"}}),
              "export a smaller value, or give a larger --cpus-per-task");
}

TEST(CheckVariables, WhatAnUnpreparedTaskLacksIsOneCause) {
    OwnTask own = made_up_task("pytorch", 2000);
    own.plan.tasks[0].set = {{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"LOCAL_RANK", "0"}};
    const auto found = [&](const Variables& variables) {
        return text(check_variables(MapEnvironment(variables), own));
    };
    EXPECT_EQ(found({}), "failed RANK, WORLD_SIZE, LOCAL_RANK: not set\n");
    EXPECT_EQ(found({{"RANK", "1"}}),
              "failed WORLD_SIZE, LOCAL_RANK: not set\n"
              "failed RANK: is 1, but should be 0\n");
    // A wrapper script may have any of them on its conscience.
    EXPECT_EQ(found({{"SLURM_DISTGPU_PREPARED", "0.0 pytorch"}, {"LOCAL_RANK", "0"}}),
              "failed RANK: not set\n"
              "failed WORLD_SIZE: not set\n");
}

// Of the only finding.
Error first_error(const Variables& variables) {
    const Findings findings =
        check_variables(MapEnvironment(variables), made_up_task("pytorch", 2000));
    EXPECT_EQ(findings.size(), 1U);
    return findings.front().error;
}

TEST(CheckVariables, SaysThatTheNodeLacksThePlugin) {
    Variables variables{{"SLURM_DISTGPU", "pytorch"},
                        {"SLURM_JOB_ID", "7"},
                        {"SLURM_STEP_ID", "0"},
                        {"SLURM_DISTGPU_STEP", "v2 7.0 plugin=/s.so"}};
    EXPECT_EQ(
        first_error(variables),
        (Error{"plugin", "srun asked for distgpu, but this node's slurmd did not load its plugin",
               "ask the administrator to add 'required /s.so' to plugstack.conf there, or to find "
               "in slurmd's log why it was not loaded"}));
    // Of another step, or of a srun that knew no more.
    variables["SLURM_STEP_ID"] = "1";
    EXPECT_EQ(first_error(variables).remedy.substr(0, 57),
              "ask the administrator to add the line of spank_distgpu.so");
}

TEST(CheckVariables, SaysWhatIsWrong) {
    const auto found = [](const Variables& variables) {
        return text(
            check_variables(MapEnvironment(variables), made_up_task("pytorch,port=2000", 2000)));
    };
    EXPECT_EQ(found({{"RANK", "0"}, {"MASTER_PORT", "2000"}}), "");
    EXPECT_EQ(found({}), "failed RANK: not set\n");
    EXPECT_EQ(found({{"RANK", "1"}}), "failed RANK: is 1, but should be 0\n");
    EXPECT_EQ(found({{"RANK", "0"}, {"PET_X", "1"}}),
              "failed PET_X: is set, but would mislead the framework\n");
    EXPECT_EQ(found({{"RANK", "0"}, {"MASTER_PORT", "2001"}}),
              "failed MASTER_PORT: is 2001, but port= gives 2000\n");
}

TEST(CheckVariables, NamesWhatAContainerSetsOtherwise) {
    const Variables variables{
        {"RANK", "0"},
        {"NCCL_DEBUG", "INFO"},
        {"NCCL_SOCKET_IFNAME", "eth9"},
        {"SLURM_DISTGPU_CONTAINER", "NCCL_DEBUG:export NCCL_SOCKET_IFNAME:container"}};
    const Findings findings =
        check_variables(MapEnvironment(variables), made_up_task("pytorch", 2000));
    EXPECT_EQ(text(findings),
              "warning NCCL_DEBUG: the container overrides the value that you exported; 'INFO' is "
              "used\n"
              "warning NCCL_SOCKET_IFNAME: the container overrides the value that distgpu would "
              "set; 'eth9' is used\n");
    EXPECT_EQ(findings.front().error.remedy, "remove it from the image, or do not export it");
    EXPECT_EQ(findings.back().error.remedy,
              "export the variable to choose, or remove it from the image");
}

TEST(CheckVariables, SaysWhoCanMendThem) {
    EXPECT_EQ(first_error({}).remedy,
              "start it with srun --distgpu=pytorch, or with distgpu exec pytorch");
    EXPECT_EQ(first_error({{"SLURM_DISTGPU_PREPARED", "0.0 pytorch"}}).remedy.substr(0, 35),
              "something changed it after distgpu:");
}

}  // namespace
}  // namespace distgpu
