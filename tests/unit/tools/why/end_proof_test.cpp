// When a step that hangs may be ended.
#include "why/end_proof.h"

#include "tools/why/made_up_looks.h"

#include <gtest/gtest.h>

#include <vector>

namespace distgpu {
namespace {

// Rank 1 has a function of the user's and a child, rank 0 waits.
std::vector<NodeLook> one_astray(const Stack& stack = astray()) {
    NodeLook look = made_up_look("node01", 0, {{.stack = waiting()}, {.stack = stack}});
    ProcessLook& child = add_process(look, 200, {});
    child.parent = 101;
    child.is_python = false;
    return {look};
}

TEST(ProvesHang, OfARankThatDidNothing) {
    EXPECT_TRUE(proves_hang(one_astray(), one_astray()));
}

TEST(ProvesHang, NotOfOneWhoseMainThreadDidSomething) {
    for (const auto count : {&Work::main_switches, &Work::main_ticks, &Work::reaped_ticks}) {
        auto end = one_astray();
        end[0].processes[1].work_before.*count += 1;
        EXPECT_FALSE(proves_hang(one_astray(), end));
    }
}

TEST(ProvesHang, WhateverItsOtherThreadsDid) {
    auto end = one_astray();
    end[0].processes[1].work_before.switches += 100;
    end[0].processes[1].work_before.ticks += 100;
    EXPECT_TRUE(proves_hang(one_astray(), end));
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

TEST(ProvesHang, WhateverThoseInACollectiveDid) {
    auto end = one_astray();
    end[0].processes[0].work_before = {9, 9, 9, 9, 9};
    EXPECT_TRUE(proves_hang(one_astray(), end));
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

TEST(ProvesHang, NotOfOneThatADebuggerHolds) {
    auto end = one_astray();
    end[0].processes[1].moments.back().state = 't';
    EXPECT_FALSE(proves_hang(one_astray(), end));
}

TEST(Discount, LeavesOutWhatALookDid) {
    auto begin = one_astray();
    auto end = one_astray();
    NodeLook between = one_astray()[0];
    for (const std::size_t i : {1U, 2U}) {
        between.processes[i].work_before = {5, 1, 7, 2, 0};
        between.processes[i].work_after = {8, 1, 14, 2, 0};
        begin[0].processes[i].work_after = {5, 1, 7, 2, 0};
        end[0].processes[i].work_before = {8, 1, 14, 2, 0};
    }
    EXPECT_FALSE(proves_hang(begin, end));
    discount(begin, {.node = "node02"});
    discount(begin, between);
    EXPECT_TRUE(proves_hang(begin, end));
}

}  // namespace
}  // namespace distgpu
