// When a step hangs, and when it may be ended.
#include "why/hang_detection.h"

#include "tools/why/made_up_looks.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace distgpu {
namespace {

NodeSample two_ranks(const Doing& other = {.stack = waiting()}) {
    return made_up_look("node01", 0, {{.stack = waiting()}, other});
}

TEST(Compare, GoesByTheStacks) {
    NodeSample another = two_ranks();
    another.processes[1].begin += 1;  // with the number of one that ended
    Stack next_line = waiting();
    next_line.front().line += 1;
    const auto with_worker = [](const Stack& stack) {
        NodeSample look = two_ranks();
        ProcessSample& worker = add_process(look, 200, {.stack = stack});
        worker.task = 1;
        worker.parent = 101;
        return look;
    };
    const NodeSample reads = with_worker(astray("read"));
    const NodeSample stopped = two_ranks({.states = "TT"});
    struct Case {
        const char* title;
        NodeSample before;
        NodeSample now;
        Progress progress;
    };
    const std::vector<Case> cases{
        {"the same", two_ranks(), two_ranks(), Progress::stalled},
        {"one that waits in NCCL uses its CPU", two_ranks(),
         two_ranks({.stack = waiting(), .cpu = 3, .wakeups = 9}), Progress::stalled},
        {"elsewhere", two_ranks(), two_ranks({.stack = astray()}), Progress::moving},
        {"another line", two_ranks(), two_ranks({.stack = next_line}), Progress::moving},
        {"another process", two_ranks(), another, Progress::moving},
        {"one more", two_ranks(),
         made_up_look("node01", 0, {{.stack = waiting()}, {}, {.stack = waiting()}}),
         Progress::moving},
        {"a worker for one that waits", reads, with_worker(astray("write")), Progress::moving},
        {"a worker that stands", reads, reads, Progress::stalled},
        {"of a worker that nobody can read, its rank tells", with_worker({}), with_worker({}),
         Progress::stalled},
        {"no stack", two_ranks({}), two_ranks({}), Progress::unclear},
        {"none before", two_ranks({}), two_ranks(), Progress::unclear},
        {"stopped", stopped, stopped, Progress::stalled},
        {"no longer in the kernel", two_ranks({.states = "DD"}), two_ranks({.states = "DS"}),
         Progress::unclear},
        {"nobody", {.node = "node01"}, {.node = "node01"}, Progress::unclear}};
    for (const Case& each : cases) {
        EXPECT_EQ(progress_between(each.before, each.now), each.progress) << each.title;
    }
}

Progress judged(const std::vector<NodeSample>& looks, const std::vector<std::string>& silent = {}) {
    return step_progress(looks, diagnose(looks, silent, 4));
}

std::vector<NodeSample> two_nodes(const Doing& last) {
    return {made_up_look("node01", 0, {{.stack = waiting()}, {.stack = waiting()}}),
            made_up_look("node02", 2, {{.stack = waiting()}, last})};
}

TEST(Judge, TellsAStepThatStandsFromOneThatMovesOrCannotBeSeen) {
    EXPECT_EQ(judged(two_nodes({.stack = astray()})), Progress::stalled);
    EXPECT_EQ(judged(two_nodes({.stack = astray(), .cpu = 3})), Progress::stalled);
    EXPECT_EQ(judged(two_nodes({.stack = {}, .states = "TT"})), Progress::stalled);
    // One rank that moves is enough.
    EXPECT_EQ(judged(two_nodes({.stack = astray(), .before = astray("other")})), Progress::moving);
    EXPECT_EQ(judged(two_nodes({.stack = astray(), .wakeups = 2})), Progress::moving);
    EXPECT_EQ(judged(two_nodes({})), Progress::unclear);
    EXPECT_EQ(judged(two_nodes({.stack = astray()}), {"node03"}), Progress::unclear);
    std::vector<NodeSample> looks = two_nodes({.stack = astray()});
    looks.push_back({.node = "node03", .problem = "distgpu: scontrol: did not end in time"});
    EXPECT_EQ(judged(looks), Progress::unclear);
    EXPECT_EQ(judged({}), Progress::unclear);
}

TEST(Judge, AWorkerThatMovesOrANodeAtWorkIsEnough) {
    std::vector<NodeSample> looks = two_nodes({.stack = astray()});
    // For three seconds, of four ranks.
    looks[1].traffic = 3 * (64 + 4) * 1024;
    EXPECT_EQ(judged(looks), Progress::stalled);
    looks[1].traffic += 1;
    EXPECT_EQ(judged(looks), Progress::moving);
    looks = two_nodes({.stack = astray()});
    ProcessSample& worker =
        add_process(looks[1], 200, {.stack = astray("read"), .before = astray("write")});
    worker.task = 3;
    worker.parent = 101;
    EXPECT_EQ(judged(looks), Progress::moving);
}

// Rank 1 has a function of the user's and a child, rank 0 waits.
std::vector<NodeSample> one_astray(const Stack& stack = astray()) {
    NodeSample look = made_up_look("node01", 0, {{.stack = waiting()}, {.stack = stack}});
    ProcessSample& child = add_process(look, 200, {});
    child.parent = 101;
    child.is_python = false;
    return {look};
}

TEST(ProvesHang, OfARankWhoseMainThreadDidNothing) {
    EXPECT_TRUE(proves_hang(one_astray(), one_astray()));
    for (const auto count : {&Work::main_switches, &Work::main_ticks, &Work::reaped_ticks}) {
        auto end = one_astray();
        end[0].processes[1].work_before.*count += 1;
        EXPECT_FALSE(proves_hang(one_astray(), end));
    }
    // Whatever its other threads did, and those that wait in a collective.
    auto end = one_astray();
    end[0].processes[1].work_before.switches += 100;
    end[0].processes[1].work_before.ticks += 100;
    end[0].processes[0].work_before = {9, 9, 9, 9, 9};
    EXPECT_TRUE(proves_hang(one_astray(), end));
    // Who holds it in a debugger is looking at it.
    end[0].processes[1].moments.back().state = 't';
    EXPECT_FALSE(proves_hang(one_astray(), end));
}

TEST(ProvesHang, NotWhereAChildDidSomethingOrCameOrWent) {
    for (const auto count : {&Work::switches, &Work::ticks, &Work::reaped_ticks}) {
        auto end = one_astray();
        end[0].processes[2].work_before.*count += 1;
        EXPECT_FALSE(proves_hang(one_astray(), end));
    }
    auto end = one_astray();
    end[0].processes[2].begin += 1;
    EXPECT_FALSE(proves_hang(one_astray(), end));
    end[0].processes.pop_back();
    EXPECT_FALSE(proves_hang(one_astray(), end));
    EXPECT_FALSE(proves_hang(end, one_astray()));
    // A child of the child.
    end = one_astray();
    add_process(end[0], 300, {}).parent = 200;
    EXPECT_FALSE(proves_hang(one_astray(), end));
}

TEST(ProvesHang, NotWhereTheStackIsAnotherOrWaits) {
    EXPECT_FALSE(proves_hang(one_astray(astray("other")), one_astray()));
    EXPECT_FALSE(proves_hang(one_astray(waiting()), one_astray(waiting())));
    EXPECT_FALSE(proves_hang(one_astray({}), one_astray({})));
    Stack join = astray("train");
    join.push_back({"join", "/usr/lib/python3.11/threading.py", 1112});
    EXPECT_FALSE(proves_hang(one_astray(join), one_astray(join)));
    // The user's own function may be called as it likes.
    EXPECT_TRUE(proves_hang(one_astray(astray("get_batch")), one_astray(astray("get_batch"))));
}

TEST(ProvesHang, NotWhereAnotherRankOutsideACollectiveDidSomething) {
    auto begin = one_astray();
    begin.push_back(made_up_look("node02", 2, {{.stack = astray("serve")}}));
    auto end = begin;
    EXPECT_TRUE(proves_hang(begin, end));
    end[1].processes[0].work_before.main_switches += 1;
    EXPECT_FALSE(proves_hang(begin, end));
    // Nor where it was not seen before.
    begin.pop_back();
    EXPECT_FALSE(proves_hang(begin, begin.empty() ? begin : end));
}

TEST(Discount, LeavesOutWhatALookDid) {
    auto begin = one_astray();
    auto end = one_astray();
    NodeSample between = one_astray()[0];
    for (const std::size_t i : {1U, 2U}) {
        between.processes[i].work_before = {5, 1, 7, 2, 0};
        between.processes[i].work_after = {8, 1, 14, 2, 0};
        begin[0].processes[i].work_after = {5, 1, 7, 2, 0};
        end[0].processes[i].work_before = {8, 1, 14, 2, 0};
    }
    EXPECT_FALSE(proves_hang(begin, end));
    exclude_sampling_cost(begin, {.node = "node02"});
    exclude_sampling_cost(begin, between);
    EXPECT_TRUE(proves_hang(begin, end));
}

}  // namespace
}  // namespace distgpu
