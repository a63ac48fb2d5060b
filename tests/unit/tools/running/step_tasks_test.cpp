// The processes of a step, of what `scontrol listpids` prints of its job.
#include "running/step_tasks.h"

#include "map_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

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
                                "138      15       0        0       0       \n";
    EXPECT_THAT(parse_listpids("5.0", printed),
                ElementsAre(StepProcess{175, 4}, StepProcess{176, 5}, StepProcess{177}));
    EXPECT_THAT(parse_listpids("5.batch", printed), ElementsAre(StepProcess{127, 0}));
    EXPECT_THAT(parse_listpids("5.2", printed), IsEmpty());
}

TEST(ParseListpids, TellsTheComponentsOfAHeterogeneousStepApart) {
    const std::string printed = heading +
                                "175      5        0+0      0       0       \n"
                                "180      5        0+1      0       0       \n";
    EXPECT_THAT(parse_listpids("5.0+1", printed), ElementsAre(StepProcess{180, 0}));
}

TEST(ParseListpids, TakesNoNumberThatIsNoProcess) {
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

TEST(ListStepProcesses, SaysWhereScontrolIsNot) {
    EXPECT_FALSE(list_step_processes("5.0", MapEnvironment(Variables{{"PATH", "/nonexistent"}})));
}

}  // namespace
}  // namespace distgpu
