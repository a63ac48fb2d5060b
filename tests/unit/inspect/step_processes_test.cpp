// The processes of a step, of what `scontrol listpids` prints of its job.
#include "inspect/step_processes.h"

#include "base/format.h"
#include "inspect/sleeper.h"
#include "made_up_folder.h"
#include "map_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace distgpu {
namespace {

using Variables = MapEnvironment::Variables;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

const std::string heading = "PID      JOBID    STEPID   LOCALID GLOBALID\n";

TEST(ParseListpids, TakesTheStepsOwn) {
    const std::string printed = heading +
                                "175      5        0        0       4       \n"
                                "176      5        0        1       5       \n"
                                "177      5        0        -       -       \n"
                                "127      5        batch    0       0       \n"
                                "137      5        1        0       0       \n"
                                "138      15       0        0       0       \n"
                                "179      5        0+0      0       0       \n"
                                "180      5        0+1      0       0       \n";
    EXPECT_THAT(parse_listpids("5.0", printed),
                ElementsAre(StepProcess{175, 4}, StepProcess{176, 5}, StepProcess{177}));
    EXPECT_THAT(parse_listpids("5.batch", printed), ElementsAre(StepProcess{127, 0}));
    EXPECT_THAT(parse_listpids("5.2", printed), IsEmpty());
    EXPECT_THAT(parse_listpids("5.0+1", printed), ElementsAre(StepProcess{180, 0}));
    EXPECT_THAT(parse_listpids("5.0", heading + "0          5 0 0 0\n"  // in another namespace
                                                "-1         5 0 0 0\n"
                                                "4194305    5 0 0 0\n"  // above PID_MAX_LIMIT
                                                "4294967297 5 0 0 0\n"
                                                "12\n"
                                                "\n"
                                                "4194304    5 0 0 4294967296\n"),
                ElementsAre(StepProcess{4194304}));
    EXPECT_THAT(parse_listpids("5.0", "There are no steps for job 5 on node (null).\n" + heading),
                IsEmpty());
}

// One that lists a process with the number of the words that it got.
TEST(ListStepProcesses, NameTheNodeOfWhichAHostMayHaveSeveral) {
    const MadeUpFolder folder;
    folder.write_program("scontrol",
                         "#!/bin/sh\n[ \"$1 $2\" = 'listpids 5' ] && echo \"$# 5 0 0 0 $3\"\n");
    const MapEnvironment environment(Variables{{"PATH", folder.path()}});
    const auto named = list_step_processes("node02", "5.0", environment);
    ASSERT_TRUE(named) << named.error().message();
    EXPECT_THAT(*named, ElementsAre(StepProcess{3, 0}));
    EXPECT_THAT(*list_step_processes("", "5.0", environment), ElementsAre(StepProcess{2, 0}));
}

// Of two tasks: the first process of each, its child, and a process of another step.
TEST(FindWithoutSlurm, AreThoseWithTheStepsVariables) {
    const auto start = [](const char* step, const char* task) {
        return std::make_unique<Sleeper>(
            std::vector<std::string>{"SLURM_JOB_ID=987654", formatted("SLURM_STEP_ID={}", step),
                                     formatted("SLURM_PROCID={}", task)});
    };
    const auto four = start("3", "4");
    const auto five = start("3", "5");
    const auto other = start("30", "6");
    EXPECT_THAT(find_without_slurm("987654.3"),
                UnorderedElementsAre(StepProcess{four->pid(), 4}, StepProcess{five->pid(), 5}));
    EXPECT_THAT(find_without_slurm("987654.30"), ElementsAre(StepProcess{other->pid(), 6}));
    EXPECT_THAT(find_without_slurm("98765.3"), IsEmpty());
    // A heterogeneous step's variables do not say which component it is.
    EXPECT_THAT(find_without_slurm("987654.3+1"), IsEmpty());
}

// A shell that has a child of its own.
TEST(FindWithoutSlurm, OnlyTheFirstProcessOfATaskHasItsRank) {
    const pid_t shell = fork();
    if (shell == 0) {
        execle("/bin/sh", "sh", "-c", "sleep 60; true", nullptr,
               std::array<const char*, 4>{"SLURM_JOB_ID=987653", "SLURM_STEP_ID=0",
                                          "SLURM_PROCID=2", nullptr}
                   .data());
        _exit(1);
    }
    std::vector<StepProcess> found;
    while (found.size() < 2) found = find_without_slurm("987653.0");
    kill(shell, SIGKILL);
    waitpid(shell, nullptr, 0);
    for (const StepProcess& process : found) {
        EXPECT_EQ(process.rank, process.pid == shell ? std::optional(2U) : std::nullopt);
        if (process.pid != shell) kill(process.pid, SIGKILL);
    }
}

TEST(FindStepProcesses, TellsWhySlurmDidNotListThem) {
    const MadeUpFolder folder;
    folder.write_program("scontrol", "#!/bin/sh\necho 'slurmd is away' >&2; exit 1\n");
    const MapEnvironment environment(Variables{{"PATH", folder.path()}});
    const Sleeper sleeper({"SLURM_JOB_ID=987652", "SLURM_STEP_ID=0", "SLURM_PROCID=1"});
    const auto sample = find_step_processes("node02", "987652.0", environment);
    ASSERT_TRUE(sample);
    EXPECT_EQ(sample->problem, "distgpu: scontrol listpids 987652 node02: slurmd is away");
    ASSERT_EQ(sample->processes.size(), 1U);
    EXPECT_EQ(sample->processes[0].pid, sleeper.pid());
    EXPECT_EQ(sample->processes[0].task, 1U);
    EXPECT_TRUE(sample->processes[0].is_task);
    const auto none = find_step_processes("node02", "987652.1", environment);
    ASSERT_TRUE(none);
    EXPECT_EQ(none->problem, sample->problem);
    EXPECT_THAT(none->processes, IsEmpty());
}

TEST(IsInCgroupOf, AreTheCgroupsOfTheStepsTasks) {
    for (const char* const cgroups :
         {"11:memory:/slurm/uid_7/job_5/step_0/task_1\n",
          "1:name=systemd:/\n0::/system.slice/slurmstepd.scope/job_5/step_0/user/task_0\n"}) {
        EXPECT_TRUE(is_in_cgroup_of("5.0", cgroups)) << cgroups;
        EXPECT_FALSE(is_in_cgroup_of("5.1", cgroups)) << cgroups;
        EXPECT_FALSE(is_in_cgroup_of("5.batch", cgroups)) << cgroups;
        EXPECT_FALSE(is_in_cgroup_of("15.0", cgroups)) << cgroups;
    }
    EXPECT_TRUE(is_in_cgroup_of("5.batch", "0::/job_5/step_batch/user/task_0\n"));
    EXPECT_TRUE(is_in_cgroup_of("5.0+1", "0::/job_5/step_0+1/user/task_0\n"));
    // slurmstepd's own.
    EXPECT_FALSE(is_in_cgroup_of("5.0", "0::/system.slice/slurmstepd.scope/job_5/step_0/slurm\n"));
    EXPECT_FALSE(is_in_cgroup_of("5.0", "0::/job_5\n"));
    EXPECT_FALSE(is_in_cgroup_of("5.0", ""));
}

TEST(OtherOwnerError, IsATaskOfAnotherUser) {
    EXPECT_EQ(other_owner_error("5.0", {{getpid(), 0}}), std::nullopt);
    EXPECT_EQ(other_owner_error("5.0", {}), std::nullopt);
    if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    const pid_t child = fork();
    if (child == 0) {
        if (setuid(12'345) == 0) pause();
        _exit(1);
    }
    while (kill(child, 0) == 0 && !other_owner_error("5.0", {{child, 1}})) usleep(1000);
    EXPECT_EQ(other_owner_error("5.0", {{child, std::nullopt}}), std::nullopt);
    const auto error = other_owner_error("5.0", {{getpid(), 0}, {child, 1}});
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->message(),
              "distgpu: step 5.0: its tasks on this node belong to user 12345, and this is user 0; "
              "run this as the user who started it");
}

}  // namespace
}  // namespace distgpu
