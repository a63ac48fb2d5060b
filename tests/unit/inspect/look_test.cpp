// What a node sends of its look, and what is made of it.
#include "inspect/look.h"

#include "base/format.h"
#include "tools/why/made_up_looks.h"

#include <gtest/gtest.h>

#include <string>

namespace distgpu {
namespace {

NodeLook full_look() {
    NodeLook look =
        made_up_look("node01", 0, {{.stack = waiting()}, {.stack = astray(), .states = "DD"}});
    look.problem = "distgpu: stacks: forbidden";
    look.traffic = 18'446'744'073'709'551'615U;
    look.nccl = "NCCL version 2.28.9\n\nErrors\n";
    look.records = {"/home/u/rank_0", "/home/u/rank_1"};
    ProcessLook& process = look.processes[0];
    process.pid = 2'147'483'647;
    process.begin = 18'446'744'073'709'551'615U;
    process.command = "python3 train.py \"a\"\n\x1b";
    process.rank = 4'294'967'295U;
    process.world_size = 16;
    process.moments[1].wakings = 18'446'744'073'709'551'615U;
    process.moments[1].wait_channel = "fuse_wait";
    process.moments[1].stack = std::nullopt;
    process.connections = {{"[2001:db8::1]:22", 1, 18'446'744'073'709'551'615U}};
    process.exit_code = 139;
    process.gpus = {"0000:06:00.0"};
    process.work_before = {1, 2, 3, 4, 5};
    process.work_after = {6, 7, 8, 9, 18'446'744'073'709'551'615U};
    look.gpus = {{"0000:06:00.0", {97, std::nullopt}}};
    return look;
}

TEST(NodeLook, IsReadAsItWasWritten) {
    EXPECT_EQ(read_node_look(to_json(full_look()).line()), full_look());
    const NodeLook failed{.node = "node02", .problem = "distgpu: scontrol: did not end in time"};
    EXPECT_EQ(read_node_look(to_json(failed).line()), failed);
}

TEST(NodeLook, IsOneLine) {
    EXPECT_EQ(to_json(full_look()).line().find('\n'), std::string::npos);
}

std::string with(const std::string& from, const std::string& to) {
    std::string text = to_json(full_look()).line();
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

TEST(NodeLook, OfAnotherReleaseIsNone) {
    EXPECT_FALSE(read_node_look(with("distgpu.look/1", "distgpu.look/2")));
    EXPECT_FALSE(read_node_look(with(R"("schema")", R"("scheme")")));
    EXPECT_FALSE(read_node_look(with(R"("wakings")", R"("switches")")));
    EXPECT_FALSE(read_node_look(with(R"("work_before")", R"("work")")));
    EXPECT_FALSE(read_node_look(with(R"("times")", R"("seconds")")));
    EXPECT_FALSE(read_node_look(with(R"("stacks")", R"("trees")")));
    // What a later one adds is no harm.
    EXPECT_TRUE(read_node_look(with(R"("node")", R"("new": {"x": [1]}, "node")")));
}

TEST(NodeLook, IsNothingElse) {
    for (const std::string text : {"", "{}", "[]", "null", R"({"schema": "distgpu.look/1"})",
                                   "Traceback (most recent call last):"}) {
        EXPECT_FALSE(read_node_look(text)) << text;
    }
    const std::string text = to_json(full_look()).line();
    EXPECT_FALSE(read_node_look(text.substr(0, text.size() / 2)));
}

TEST(NodeLook, HasNoNumberOutOfItsRange) {
    EXPECT_FALSE(read_node_look(with(R"("pid":2147483647)", R"("pid":2147483648)")));
    EXPECT_FALSE(read_node_look(with(R"("pid":2147483647)", R"("pid":-1)")));
    EXPECT_FALSE(read_node_look(with(R"("rank":4294967295)", R"("rank":4294967296)")));
    EXPECT_FALSE(read_node_look(with(R"("rank":4294967295)", R"("rank":"3")")));
    EXPECT_FALSE(read_node_look(with(R"("tasks":[0,1])", R"("tasks":[0,4294967296])")));
    EXPECT_FALSE(read_node_look(with(R"("tasks":[0,1])", R"("tasks":[0,"1"])")));
    EXPECT_FALSE(read_node_look(with(R"("times":[0.5,3.5])", R"("times":[0.5,null])")));
    EXPECT_FALSE(read_node_look(with(R"("times":[0.5,3.5])", R"("times":[0.5,1e999])")));
}

TEST(NodeLook, HasALetterForAState) {
    EXPECT_TRUE(read_node_look(with(R"("state":"S")", R"("state":"R")")));
    EXPECT_FALSE(read_node_look(with(R"("state":"S")", R"("state":"")")));
    EXPECT_FALSE(read_node_look(with(R"("state":"S")", R"("state":"sleeping")")));
}

TEST(NodeLook, HasAPercentageForEachTime) {
    EXPECT_FALSE(read_node_look(with(R"("busy":[97,null])", R"("busy":[97])")));
    EXPECT_FALSE(read_node_look(with(R"("busy":[97,null])", R"("busy":[101,null])")));
    EXPECT_FALSE(read_node_look(with(R"("busy":[97,null])", R"("busy":["97",null])")));
    EXPECT_FALSE(read_node_look(with(R"("exit_code":139)", R"("exit_code":-1)")));
}

// What diagnose() takes for granted.
TEST(NodeLook, HasNoIndexOutOfItsRange) {
    EXPECT_TRUE(read_node_look(with(R"("stack":0)", R"("stack":1)")));
    EXPECT_FALSE(read_node_look(with(R"("stack":0)", R"("stack":2)")));
    EXPECT_FALSE(read_node_look(with(R"("stack":0)", R"("stack":4294967295)")));
    NodeLook none = full_look();
    none.processes.resize(1);
    none.stacks.clear();
    EXPECT_FALSE(read_node_look(to_json(none).line()));
}

TEST(NodeLook, HasAMomentForEachTime) {
    EXPECT_FALSE(read_node_look(with(R"("times":[0.5,3.5])", R"("times":[0.5])")));
    EXPECT_FALSE(read_node_look(with(R"("times":[0.5,3.5])", R"("times":[])")));
}

TEST(NodeLook, OfAMillionStacksIsRead) {
    std::string stacks = R"("stacks":[)";
    for (int i = 0; i < 1'000'000; ++i) stacks += R"({"frames":[]},)";
    const auto look = read_node_look(with(R"("stacks":[)", stacks));
    ASSERT_TRUE(look);
    EXPECT_EQ(look->stacks.size(), 1'000'002U);
}

}  // namespace
}  // namespace distgpu
