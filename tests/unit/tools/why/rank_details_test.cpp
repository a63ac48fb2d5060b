// What was seen of one rank, beside its stack.
#include "why/rank_details.h"

#include "tools/why/made_up_looks.h"
#include "why/diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace distgpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// torchrun, a rank of it and a worker of that rank.
NodeLook launched() {
    NodeLook look = made_up_look("n1", 0, {{.stack = waiting(), .cpu = 1.5, .wakings = 4}});
    look.processes[0].rank = 0;
    look.processes[0].parent = 70;
    look.processes[0].command = "python3 train.py";
    ProcessLook& launcher = add_process(look, 70, {});
    launcher.command = "torchrun train.py";
    ProcessLook& worker = add_process(look, 200, {.states = "SD"});
    worker.parent = 100;
    return look;
}

TEST(RankDetails, HaveTheProcessesAboveAndBelow) {
    const NodeLook look = launched();
    const RankDetails details = details_of({0, &look, &look.processes[0], {}});
    EXPECT_EQ(details.pid, 100);
    EXPECT_DOUBLE_EQ(details.cpu, 0.5);
    EXPECT_EQ(details.wakings, 4U);
    EXPECT_THAT(details.launchers, ElementsAre("70 torchrun train.py"));
    EXPECT_THAT(details.children, ElementsAre("200 python3 (D)"));
    EXPECT_EQ(to_text(details),
              "  rank 0 on n1: process 100 python3 train.py\n"
              "    state S, 0.50 s of CPU a second, woke 4 times\n"
              "    started by 70 torchrun train.py\n"
              "    has started 200 python3 (D)\n");
}

TEST(RankDetails, HaveNoEndlessLineOfParents) {
    NodeLook look = launched();
    look.processes[1].parent = 70;
    EXPECT_EQ(details_of({0, &look, &look.processes[0], {}}).launchers.size(), 16U);
}

TEST(RankDetails, TellTheFirstOfManyConnections) {
    NodeLook look = launched();
    for (int i = 0; i < 6; ++i) {
        look.processes[0].connections.push_back({"10.0.0.1:" + std::to_string(i), 0, 0});
    }
    look.processes[0].connections[0].unsent = 7;
    EXPECT_THAT(to_text(details_of({0, &look, &look.processes[0], {}})),
                HasSubstr("    connected to 10.0.0.1:0 (7 bytes unsent), 10.0.0.1:1, 10.0.0.1:2, "
                          "10.0.0.1:3, and 2 more\n"));
}

TEST(RankDetails, SteerNoTerminal) {
    NodeLook look = launched();
    look.processes[0].command = "python3 \x1b[2J";
    look.processes[1].command = "torchrun\n\x1b]0;x\a";
    EXPECT_EQ(to_text(details_of({0, &look, &look.processes[0], {}})).find('\x1b'),
              std::string::npos);
}

TEST(EndedProcesses, AreThoseThatNobodyHasWaitedFor) {
    NodeLook look = launched();
    look.processes[0].moments.back().state = 'Z';
    for (const auto& [code, how] : std::vector<std::pair<int, std::string>>{
             {9, "was killed by signal 9 (SIGKILL)"},
             {139, "was killed by signal 11 (SIGSEGV)"},  // with a core
             {12, "was killed by signal 12"},
             {0, "ended with status 0"},
             {256, "ended with status 1"}}) {
        look.processes[0].exit_code = code;
        EXPECT_THAT(ended_processes({look}), ElementsAre(EndedProcess{"n1", 100, "python3", how}));
    }
    look.processes[0].exit_code.reset();
    EXPECT_THAT(ended_processes({look}), IsEmpty());
}

TEST(EndedProcesses, AreToldWhereRanksAreMissing) {
    NodeLook look = launched();
    look.processes[2].exit_code = 9;
    EXPECT_THAT(diagnose({look}, {}, 1).ended, IsEmpty());
    look.processes[0].world_size = 5;
    EXPECT_EQ(diagnose({look}, {}, 1).ended.size(), 1U);
}

}  // namespace
}  // namespace distgpu
