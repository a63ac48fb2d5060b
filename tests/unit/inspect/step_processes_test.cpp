// The processes of a step, of what `scontrol listpids` prints of its job.
#include "inspect/step_processes.h"

#include "made_up_folder.h"
#include "map_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace distgpu {
namespace {

using Variables = MapEnvironment::Variables;
using testing::ElementsAre;
using testing::IsEmpty;

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
