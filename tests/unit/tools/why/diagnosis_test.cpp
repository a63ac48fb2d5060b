// Which ranks are a group, what their workers tell of them, and what was seen of the odd ones.
#include "why/diagnosis.h"

#include "tools/why/made_up_looks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Doing waits{.stacks = {waiting()}};
const Doing sleeps{.stacks = {astray()}};
const Doing spins{.stacks = {astray("compute")},
                  .states = "R",
                  .variables = {"7"},
                  .work = used_cpu(2.9),
                  .holds_gil = true};

Stack receiving(std::uint32_t line) {
    return {{"stage", "/home/u/pipe.py", line}, {"recv", torch_file, 2300}};
}

std::vector<std::vector<std::uint32_t>> ranks_of_groups(const std::vector<Doing>& ranks) {
    std::vector<std::vector<std::uint32_t>> groups;
    for (const RankGroup& group : diagnose({made_up_look("n1", 0, ranks)}, {}, 0).groups) {
        groups.push_back(group.ranks);
    }
    return groups;
}

TEST(Groups, AreTheSmallestFirst) {
    std::vector<Doing> ranks(16, waits);
    ranks[1] = ranks[9] = spins;
    ranks[4] = sleeps;
    const Diagnosis diagnosis = diagnose({made_up_look("n1", 0, {ranks.begin(), ranks.begin() + 8}),
                                          made_up_look("n2", 8, {ranks.begin() + 8, ranks.end()})},
                                         {}, 16);
    ASSERT_EQ(diagnosis.groups.size(), 3U);
    EXPECT_THAT(diagnosis.groups[0].ranks, ElementsAre(4));
    EXPECT_THAT(diagnosis.groups[0].nodes, ElementsAre("n1"));
    EXPECT_THAT(diagnosis.groups[1].ranks, ElementsAre(1, 9));
    EXPECT_THAT(diagnosis.groups[1].nodes, ElementsAre("n1", "n2"));
    EXPECT_EQ(diagnosis.groups[1].activity, Activity::running);
    EXPECT_TRUE(diagnosis.groups[1].is_polling);
    EXPECT_EQ(diagnosis.groups[2].ranks.size(), 13U);
    EXPECT_EQ(diagnosis.groups[2].stack, waiting());
    EXPECT_EQ(diagnosis.seconds, 3.0);
    EXPECT_EQ(diagnosis.outliers, 3U);
    EXPECT_EQ(diagnosis.details.size(), 16U);
}

// A loop that waits is at one place, whatever its line; other code is at another line.
TEST(Groups, OfALoopAreOfOneFunction) {
    EXPECT_EQ(ranks_of_groups({{.stacks = {receiving(7)}}, {.stacks = {receiving(9)}}}).size(), 1U);
    const Doing poll{.stacks = {astray("poll", 7), astray("poll", 8)}, .work = woke(9)};
    const Doing later{.stacks = {astray("poll", 8), astray("poll", 9)}, .work = woke(9)};
    EXPECT_EQ(ranks_of_groups({poll, later}).size(), 1U);
    EXPECT_EQ(ranks_of_groups({sleeps, {.stacks = {astray("load_batch", 42)}}}).size(), 2U);
    // At one place some make progress, are awake or wait for something else.
    for (const Doing& other :
         {Doing{.stacks = {astray()}, .work = {.peer_bytes = 1}},
          Doing{.stacks = {astray()}, .work = woke(1)}, Doing{.stacks = {astray()}, .states = "D"},
          Doing{.stacks = {astray()}, .has_request = true}}) {
        EXPECT_EQ(ranks_of_groups({sleeps, other}).size(), 2U);
    }
}

TEST(Diagnosis, HasTheShortestSilenceAndEachProblemOnce) {
    NodeSample first = made_up_look("n1", 0, {waits, waits, waits});
    first.problem = "distgpu: stacks: forbidden";
    first.processes[1].silence = 30;
    first.processes[2].silence = 20;
    NodeSample second = made_up_look("n2", 3, {waits});
    second.problem = first.problem;
    const Diagnosis diagnosis = diagnose({first, second}, {"n3"}, 5);
    EXPECT_EQ(diagnosis.silence, 20);
    EXPECT_THAT(diagnosis.notes, ElementsAre("distgpu: stacks: forbidden"));
    EXPECT_THAT(diagnosis.silent, ElementsAre("n3"));
    EXPECT_EQ(diagnosis.nodes, 3U);
    EXPECT_EQ(diagnosis.expected, 5U);
    EXPECT_EQ(diagnose({second}, {}, 4).silence, std::nullopt);
}

TEST(Diagnosis, OfAStepThatMovesHasStragglers) {
    const std::vector<double> times{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    const Doing computes{.stacks = {astray()}, .states = "R"};
    const NodeSample moves = made_up_look("n1", 0, {computes, waits, waits}, times);
    EXPECT_THAT(diagnose({moves}, {}, 3).stragglers,
                ElementsAre(Straggler{0, "n1", "load_batch (data.py:41)", 1}));
    const NodeSample hangs = made_up_look("n1", 0, {sleeps, waits, waits}, times);
    EXPECT_THAT(diagnose({hangs}, {}, 3).stragglers, IsEmpty());
}

const Stack reads{{"_worker_loop", packages + "torch/worker.py", 1},
                  {"__getitem__", "/home/u/data.py", 7}};
const Stack idle{{"_worker_loop", packages + "torch/worker.py", 1}};

Diagnosis with_worker(const Doing& rank, const Doing& worker) {
    NodeSample look = made_up_look("n1", 0, {rank, waits, waits});
    ProcessSample& process = add_process(look, 200, worker);
    process.task = 0;
    process.parent = 100;
    return diagnose({look}, {}, 3);
}

TEST(Workers, AreNamedIfARankMayWaitForThem) {
    const std::string rank =
        "rank 0 on n1 is in load_batch (data.py:41), asleep, unchanged for 3.0 s";
    const std::string rest = "; 2 ranks wait in all_reduce (train.py:88)";
    const auto finding = [](const Doing& worker) {
        return with_worker(sleeps, worker).findings.at(0);
    };
    EXPECT_EQ(finding({.stacks = {reads}}),
              rank +
                  ", and waits for its worker process 200, which is in __getitem__ (data.py:7), "
                  "asleep" +
                  rest);
    EXPECT_EQ(finding({.stacks = {idle}}), rank + rest);
    EXPECT_EQ(finding({}), rank + rest);
}

// A rank whose worker works goes on, also if it looks again and again whether the worker is done.
TEST(Workers, ThatMoveAreTheirRanksProgress) {
    const Doing works{.stacks = {reads}, .work = used_cpu(2)};
    const Doing looks{.stacks = {astray()}, .work = woke(300)};
    EXPECT_TRUE(with_worker(looks, {}).groups.at(0).is_polling);
    for (const Doing& rank : {sleeps, looks}) {
        const Diagnosis diagnosis = with_worker(rank, works);
        EXPECT_EQ(diagnosis.kind, Diagnosis::Kind::moving);
        EXPECT_EQ(diagnosis.groups.at(0).progress, Progress::children);
        EXPECT_FALSE(diagnosis.groups.at(0).is_polling);
        EXPECT_EQ(diagnosis.groups.at(0).worker, "");
    }
    // What the rank itself did counts first.
    Doing sends = sleeps;
    sends.work.peer_bytes = 1;
    EXPECT_EQ(with_worker(sends, works).groups.at(0).progress, Progress::messages);
}

// torchrun, a rank of it and a worker of that rank.
NodeSample launched() {
    NodeSample look = made_up_look(
        "n1", 0,
        {{.stacks = {waiting()}, .work = {.main_switches = 4, .main_ticks = 20, .ticks = 150}}});
    look.processes[0].rank = 0;
    look.processes[0].parent = 70;
    look.processes[0].command = "python3 train.py";
    ProcessSample& launcher = add_process(look, 70, {});
    launcher.command = "torchrun train.py";
    ProcessSample& worker = add_process(look, 200, {.states = "SSSD"});
    worker.parent = 100;
    return look;
}

TEST(RankDetails, HaveTheProcessesAboveAndBelow) {
    const NodeSample look = launched();
    const RankDetails details = rank_details({0, &look, &look.processes[0], {}});
    EXPECT_EQ(details.pid, 100);
    EXPECT_DOUBLE_EQ(details.cpu, 0.5);
    EXPECT_EQ(details.wakeups, 4U);
    EXPECT_THAT(details.launchers, ElementsAre("70 torchrun train.py"));
    EXPECT_THAT(details.children, ElementsAre("200 python3 (D)"));
    EXPECT_EQ(to_text(details),
              "  rank 0 on n1: process 100 python3 train.py\n"
              "    state S, 0.50 s of CPU a second, woke 4 times\n"
              "    started by 70 torchrun train.py\n"
              "    has started 200 python3 (D)\n");
}

TEST(RankDetails, AreShortAndSteerNoTerminal) {
    NodeSample look = launched();
    look.processes[1].parent = 70;
    look.processes[0].command = "python3 \x1b[2J";
    look.processes[1].command = "torchrun\n\x1b]0;x\a";
    for (int i = 0; i < 6; ++i) {
        look.processes[0].connections.push_back({"10.0.0.1:" + std::to_string(i), 0, 0});
    }
    look.processes[0].connections[0].unsent = 7;
    const RankDetails details = rank_details({0, &look, &look.processes[0], {}});
    EXPECT_EQ(details.launchers.size(), 16U);
    EXPECT_EQ(to_text(details).find('\x1b'), std::string::npos);
    EXPECT_THAT(to_text(details),
                HasSubstr("    connected to 10.0.0.1:0 (7 bytes unsent), 10.0.0.1:1, 10.0.0.1:2, "
                          "10.0.0.1:3, and 2 more\n"));
}

}  // namespace
}  // namespace distgpu
