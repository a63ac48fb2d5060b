// When a step hangs.
#include "why/stillness.h"

#include "tools/why/made_up_looks.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace distgpu {
namespace {

NodeLook two_ranks(const Doing& other = {.stack = waiting()}) {
    return made_up_look("node01", 0, {{.stack = waiting()}, other});
}

TEST(Compare, RanksWhoseStacksAreTheSameStandStill) {
    EXPECT_EQ(compare(two_ranks(), two_ranks()), Stillness::still);
    // Where CPU time and wakings differ: one that waits in NCCL uses its CPU.
    EXPECT_EQ(compare(two_ranks(), two_ranks({.stack = waiting(), .cpu = 3, .wakings = 9})),
              Stillness::still);
}

TEST(Compare, OneThatIsElsewhereMoved) {
    EXPECT_EQ(compare(two_ranks(), two_ranks({.stack = astray()})), Stillness::moves);
    Stack next_line = waiting();
    next_line.front().line += 1;
    EXPECT_EQ(compare(two_ranks(), two_ranks({.stack = next_line})), Stillness::moves);
}

TEST(Compare, AnotherProcessMoved) {
    NodeLook later = two_ranks();
    later.processes[1].begin += 1;  // with the number of one that ended
    EXPECT_EQ(compare(two_ranks(), later), Stillness::moves);
    NodeLook more = made_up_look("node01", 0, {{.stack = waiting()}, {}, {.stack = waiting()}});
    EXPECT_EQ(compare(two_ranks(), more), Stillness::moves);
}

TEST(Compare, AWorkerThatWorksForOneThatWaitsMoved) {
    const auto with_worker = [](const Stack& stack) {
        NodeLook look = two_ranks();
        ProcessLook& worker = add_process(look, 200, {.stack = stack});
        worker.task = 1;
        worker.parent = 101;
        return look;
    };
    EXPECT_EQ(compare(with_worker(astray("read")), with_worker(astray("write"))), Stillness::moves);
    EXPECT_EQ(compare(with_worker(astray("read")), with_worker(astray("read"))), Stillness::still);
    // Of a worker that nobody can read, its rank tells.
    EXPECT_EQ(compare(with_worker({}), with_worker({})), Stillness::still);
}

TEST(Compare, WithoutAStackNobodyCanTell) {
    EXPECT_EQ(compare(two_ranks({}), two_ranks({})), Stillness::unclear);
    EXPECT_EQ(compare(two_ranks({}), two_ranks()), Stillness::unclear);
    EXPECT_EQ(compare(two_ranks({.states = "TT"}), two_ranks({.states = "TT"})), Stillness::still);
    EXPECT_EQ(compare(two_ranks({.states = "DD"}), two_ranks({.states = "DS"})),
              Stillness::unclear);
    EXPECT_EQ(compare({.node = "node01"}, {.node = "node01"}), Stillness::unclear);
}

Stillness judged(const std::vector<NodeLook>& looks, const std::vector<std::string>& silent = {}) {
    return judge(looks, diagnose(looks, silent, 4));
}

std::vector<NodeLook> two_nodes(const Doing& last) {
    return {made_up_look("node01", 0, {{.stack = waiting()}, {.stack = waiting()}}),
            made_up_look("node02", 2, {{.stack = waiting()}, last})};
}

TEST(Judge, AStepHangsWhereNoRankMoved) {
    EXPECT_EQ(judged(two_nodes({.stack = astray()})), Stillness::still);
    EXPECT_EQ(judged(two_nodes({.stack = astray(), .cpu = 3})), Stillness::still);
    EXPECT_EQ(judged(two_nodes({.stack = {}, .states = "TT"})), Stillness::still);
}

TEST(Judge, OneRankThatMovesIsEnough) {
    EXPECT_EQ(judged(two_nodes({.stack = astray(), .before = astray("other")})), Stillness::moves);
    EXPECT_EQ(judged(two_nodes({.stack = astray(), .wakings = 2})), Stillness::moves);
}

TEST(Judge, AWorkerThatMovesIsEnough) {
    std::vector<NodeLook> looks = two_nodes({.stack = astray()});
    ProcessLook& worker =
        add_process(looks[1], 200, {.stack = astray("read"), .before = astray("write")});
    worker.task = 3;
    worker.parent = 101;
    EXPECT_EQ(judged(looks), Stillness::moves);
}

TEST(Judge, ANodeAtWorkIsEnough) {
    std::vector<NodeLook> looks = two_nodes({.stack = astray()});
    // For three seconds, of four ranks.
    looks[1].traffic = 3 * (64 + 4) * 1024;
    EXPECT_EQ(judged(looks), Stillness::still);
    looks[1].traffic += 1;
    EXPECT_EQ(judged(looks), Stillness::moves);
}

TEST(Judge, WhatWasNotSeenMayMove) {
    EXPECT_EQ(judged(two_nodes({})), Stillness::unclear);
    EXPECT_EQ(judged(two_nodes({.stack = astray()}), {"node03"}), Stillness::unclear);
    std::vector<NodeLook> looks = two_nodes({.stack = astray()});
    looks.push_back({.node = "node03", .problem = "distgpu: scontrol: did not end in time"});
    EXPECT_EQ(judged(looks), Stillness::unclear);
    EXPECT_EQ(judged({}), Stillness::unclear);
}

}  // namespace
}  // namespace distgpu
