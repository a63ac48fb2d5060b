// What a node sends of its look, and what is made of it.
#include "inspect/node_sample.h"

#include "tools/why/made_up_looks.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

NodeSample full_look() {
    NodeSample look = made_up_look(
        "node01", 0, {{.stacks = {waiting()}}, {.stacks = {astray()}, .states = "D"}}, {0.5, 3.5});
    look.began = 86'400.25;
    look.problem = "distgpu: stacks: forbidden";
    look.traffic = 18'446'744'073'709'551'615U;
    look.nccl = "NCCL version 2.28.9\n\nErrors\n";
    look.records = {"/home/u/rank_0", "/home/u/rank_1"};
    ProcessSample& process = look.processes[0];
    process.pid = 2'147'483'647;
    process.begin = 18'446'744'073'709'551'615U;
    process.command = "python3 train.py \"a\"\n\x1b";
    process.rank = 4'294'967'295U;
    process.world_size = 16;
    process.moments[1] = {.state = 'S',
                          .wait_channel = "fuse_wait",
                          .system_call = "futex",
                          .variables = "5cafe",
                          .holds_gil = true,
                          .has_request = true,
                          .has_running_child = true,
                          .before = {1, 2, 3, 4, 5, 6},
                          .after = {7, 8, 9, 10, 11, 18'446'744'073'709'551'615U}};
    process.connections = {{"[2001:db8::1]:22", 1, 18'446'744'073'709'551'615U}};
    process.exit_code = 139;
    process.gpus = {{"0", "0000:06:00.0", "/dev/nvidia0", "H100"}, {"1"}};
    process.is_task = true;
    process.is_hidden = true;
    process.native = 1;
    process.silence = 20.5;
    process.chatter = 2048;
    look.gpus = {{"0000:06:00.0", {97, std::nullopt}}};
    look.spec = "pytorch";
    process.facts = RankFacts{.task = 4'294'967'295U,
                              .launchers = {"811 bash wrap.sh \"x\"\n"},
                              .cpus = "0-3",
                              .open_gpus = {"/dev/nvidia0"},
                              .variables = {{"NCCL_DEBUG", "WARN"}},
                              .changes = {{Change::Since::start, "NCCL_ALGO", std::nullopt, "Tree"},
                                          {Change::Since::given, "NCCL_IB_HCA", "mlx5_0", ""},
                                          {Change::Since::planned, "RANK", "1", std::nullopt},
                                          {Change::Since::others, "NCCL_P2P_DISABLE", "0", "1"}},
                              .is_hidden = true};
    return look;
}

TEST(NodeSample, IsReadAsItWasWritten) {
    const std::string line = to_json(full_look()).line();
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_EQ(read_node_sample(line), full_look());
    EXPECT_FALSE(read_node_sample(line.substr(0, line.size() / 2)));
    const NodeSample failed{.node = "node02", .problem = "distgpu: scontrol: did not end in time"};
    EXPECT_EQ(read_node_sample(to_json(failed).line()), failed);
}

std::string with(const std::string& from, const std::string& to) {
    std::string text = to_json(full_look()).line();
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

TEST(NodeSample, IsReadWithWhatALaterReleaseAddsOrSays) {
    EXPECT_TRUE(read_node_sample(with(R"("node")", R"("new": {"x": [1]}, "node")")));
    EXPECT_TRUE(read_node_sample(with(R"("state":"S")", R"("state":"R")")));
    EXPECT_TRUE(read_node_sample(with(R"("stack":0)", R"("stack":1)")));
}

// Fields that are missing, numbers out of their range, indices of nothing, and a moment or a
// percentage for each time, which diagnose() takes for granted.
TEST(NodeSample, OfAnotherReleaseOrOfOtherValuesIsNone) {
    const std::vector<std::pair<std::string, std::string>> changes{
        {"distgpu.look/3", "distgpu.look/2"},
        {R"("schema")", R"("scheme")"},
        {R"("peer_bytes":6)", R"("bytes":6)"},
        {R"("variables":"5cafe")", R"("digest":"5cafe")"},
        {R"("began")", R"("begin")"},
        {R"("times")", R"("seconds")"},
        {R"("stacks")", R"("trees")"},
        {R"("since":"start")", R"("since":"birth")"},
        {R"("hidden":true)", R"("hidden":1)"},
        {R"("pid":2147483647)", R"("pid":2147483648)"},
        {R"("pid":2147483647)", R"("pid":-1)"},
        {R"("rank":4294967295)", R"("rank":4294967296)"},
        {R"("rank":4294967295)", R"("rank":"3")"},
        {R"("tasks":[0,1])", R"("tasks":[0,4294967296])"},
        {R"("tasks":[0,1])", R"("tasks":[0,"1"])"},
        {R"("times":[0.5,3.5])", R"("times":[0.5,null])"},
        {R"("times":[0.5,3.5])", R"("times":[0.5,1e999])"},
        {R"("times":[0.5,3.5])", R"("times":[0.5])"},
        {R"("times":[0.5,3.5])", R"("times":[])"},
        {R"("state":"S")", R"("state":"")"},
        {R"("state":"S")", R"("state":"sleeping")"},
        {R"("busy":[97,null])", R"("busy":[97])"},
        {R"("busy":[97,null])", R"("busy":[101,null])"},
        {R"("busy":[97,null])", R"("busy":["97",null])"},
        {R"("exit_code":139)", R"("exit_code":-1)"},
        {R"("stack":0)", R"("stack":2)"},
        {R"("stack":0)", R"("stack":4294967295)"},
        {R"("native":1)", R"("native":2)"}};
    for (const auto& [from, to] : changes) EXPECT_FALSE(read_node_sample(with(from, to))) << to;
    NodeSample none = full_look();
    none.processes.resize(1);
    none.stacks.clear();
    EXPECT_FALSE(read_node_sample(to_json(none).line()));
    for (const std::string text : {"", "{}", "[]", "null", R"({"schema": "distgpu.look/3"})",
                                   "Traceback (most recent call last):"}) {
        EXPECT_FALSE(read_node_sample(text)) << text;
    }
}

TEST(NodeSample, OfAMillionStacksIsRead) {
    std::string stacks = R"("stacks":[)";
    for (int i = 0; i < 1'000'000; ++i) stacks += R"({"frames":[]},)";
    const auto look = read_node_sample(with(R"("stacks":[)", stacks));
    ASSERT_TRUE(look);
    EXPECT_EQ(look->stacks.size(), 1'000'002U);
}

// A look of two moments, and one of a single moment ten seconds later.
struct TwoLooks {
    NodeSample earlier = made_up_look("n1", 0, {{.stacks = {waiting(), astray()}}, {}}, {0.5, 1.5});
    NodeSample later = made_up_look("n1", 0, {{.stacks = {waiting()}, .states = "R"}, {}}, {0.25});

    TwoLooks() {
        earlier.began = 1000;
        later.began = 1010;
    }
    NodeSample both() const {
        NodeSample sample = later;
        prepend_moments(earlier, sample);
        return sample;
    }
};

TEST(PrependMoments, PutsThoseOfTheSameProcessesFirst) {
    TwoLooks looks;
    looks.earlier.traffic = 5;
    looks.later.traffic = 7;
    looks.later.stacks.insert(looks.later.stacks.begin(), Stack{{"other"}});
    looks.later.processes[0].moments[0].stack = 1;
    const NodeSample both = looks.both();
    EXPECT_EQ(both.times, (std::vector{0.5, 1.5, 10.25}));
    EXPECT_EQ(both.began, 1000);
    EXPECT_EQ(both.traffic, 12U);
    EXPECT_TRUE(read_node_sample(to_json(both).line()));
    const auto& moments = both.processes[0].moments;
    ASSERT_EQ(moments.size(), 3U);
    EXPECT_EQ(both.stacks.at(*moments[0].stack), waiting());
    EXPECT_EQ(both.stacks.at(*moments[1].stack), astray());
    EXPECT_EQ(both.stacks.at(*moments[2].stack), waiting());
    // A stack that was known already stands there once.
    EXPECT_EQ(both.stacks.size(), 3U);
    EXPECT_EQ(moments[1].after, looks.earlier.processes[0].moments[1].after);
    EXPECT_EQ(moments[2].state, 'R');
    EXPECT_EQ(both.processes[1].moments[0].stack, std::nullopt);
}

// Also one with the number of another that has ended.
TEST(PrependMoments, OfAProcessThatIsNewAreNotKnown) {
    TwoLooks looks;
    looks.later.processes[0].begin += 1;
    looks.earlier.processes[1].pid = 500;
    const NodeSample both = looks.both();
    ASSERT_EQ(both.processes.size(), 2U);
    for (const ProcessSample& process : both.processes) {
        ASSERT_EQ(process.moments.size(), 3U);
        EXPECT_EQ(process.moments[0], Moment());
        EXPECT_EQ(process.moments[1], Moment());
        EXPECT_NE(process.moments[2].state, '?');
    }
}

TEST(PrependMoments, OfGpusAreTheirLoad) {
    TwoLooks looks;
    looks.earlier.gpus = {{"0000:07:00.0", {1, 2}}};
    looks.later.gpus = {{"0000:06:00.0", {3}}, {"0000:07:00.0", {4}}};
    const NodeSample both = looks.both();
    using Busy = decltype(GpuSample::busy);
    EXPECT_EQ(both.gpus.at(0).busy, (Busy{std::nullopt, std::nullopt, 3}));
    EXPECT_EQ(both.gpus.at(1).busy, (Busy{1, 2, 4}));
}

}  // namespace
}  // namespace distgpu
