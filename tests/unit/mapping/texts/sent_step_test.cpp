// What srun tells the nodes: round trips, text that a user forged, and a layout against what Slurm
// started on this node.
#include "mapping/texts/sent_step.h"

#include "base/format.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace distgpu {
namespace {

HostList hosts(const char* text) {
    return *HostList::parse(text);
}

StepLayout layout(const char* host_list, std::vector<TaskMapBlock> map) {
    return *StepLayout::from_task_map(hosts(host_list), std::move(map));
}

// From the last node to the first.
StepLayout ordered(const StepLayout& layout) {
    std::vector<NodeIndex> order;
    for (std::uint32_t i = layout.node_count(); i > 0; --i) order.push_back(NodeIndex{i - 1});
    return *layout.with_order(order);
}

// A step of which nothing but flags is known.
SentStep bare(std::uint32_t job, std::uint32_t step, bool refused, bool cpu_bind) {
    return {job, step, std::nullopt, "", refused, {}, cpu_bind};
}

SentStep of_gpus(std::uint32_t gpus) {
    SentStep step = bare(4242, 1, false, false);
    step.gpus = gpus;
    return step;
}

SentStep of_plugin(std::string file) {
    SentStep step = bare(4242, 1, false, false);
    step.plugin_file = std::move(file);
    return step;
}

// Of a step of any size.
Result<std::optional<SentStep>> decode_of(std::uint32_t job, std::uint32_t step,
                                          std::string_view text) {
    return decode(text, {job, step, max_step_size});
}

// What decode() refuses words of this step with; "" where it does not.
std::string refusal(const std::string& words) {
    const auto decoded = decode_of(1, 2, "v2 1.2 " + words);
    return decoded ? "" : decoded.error().message();
}

// As the refusal of the whole variable.
std::string in_variable(const std::string& problem) {
    return "distgpu: SLURM_DISTGPU_STEP: " + problem + "; run again without SLURM_DISTGPU_STEP";
}

std::string in_variable(const Error& error) {
    return in_variable(error.object + ": " + error.problem);
}

// Nodes that alternate against their order: a block of the map for each task.
SentStep with_irregular_layout(std::uint32_t tasks) {
    std::vector<std::uint32_t> nodes(tasks);
    for (std::uint32_t task = 0; task < tasks; ++task) nodes[task] = task % 2 == 0 ? 2 : 0;
    nodes.back() = 1;
    SentStep step{4242, 0, std::nullopt, "10.0.0.1", false};
    step.layout = *StepLayout::from_assignment(hosts("n[1-3]"), nodes);
    return step;
}

TEST(SentStep, IsReadAsWritten) {
    struct Row {
        const char* title;
        SentStep step;
    };
    const std::vector<Row> rows = {
        {"nothing but ids", {4242, 0, std::nullopt, "", false}},
        {"the largest ids", {UINT32_MAX, UINT32_MAX, std::nullopt, "", false}},
        {"refused", {4242, 1, std::nullopt, "", true}},
        {"CPUs that the user bound", bare(4242, 1, false, true)},
        {"the plugin's path", of_plugin("/usr/lib/slurm/spank_distgpu.so")},
        {"GPUs of all nodes", of_gpus(6)},
        {"an IPv6 address", {4242, 1, std::nullopt, "fd00::1", false}},
        {"block", {4242, 1, layout("n[1-2]", {{0, 2, 4, 1}}), "10.0.0.1", false}},
        {"every node's address",
         {4242, 1, layout("n[1-2]", {{0, 2, 4, 1}}), "10.0.0.1", false,
          HostList::from_names(std::vector<std::string>{"10.0.0.1", "fd00::2"})}},
        {"cyclic 5,1,1", {7, 0, layout("n[1-3]", {{0, 3, 1, 1}, {0, 1, 4, 1}}), "", false}},
        {"plane", {7, 0, layout("n[1-3]", {{0, 3, 2, 3}}), "", false}},
        {"arbitrary",
         {7, 0, layout("n[1-3]", {{2, 1, 1, 1}, {0, 1, 1, 1}, {2, 1, 1, 1}, {1, 1, 1, 1}}), "",
          false}},
        {"an order of the nodes", {7, 0, ordered(layout("n[1-3]", {{0, 3, 2, 1}})), "n3", false}},
        {"two million tasks", {7, 0, layout("x[0001-9999]", {{0, 9999, 200, 1}}), "", false}},
        {"a layout that was refused", {7, 0, layout("n1", {{0, 1, 8, 1}}), "n1", true}},
    };
    for (const auto& row : rows) {
        const auto decoded = decode_of(row.step.job, row.step.step, encode(row.step));
        ASSERT_TRUE(decoded) << row.title << ": " << decoded.error().message();
        ASSERT_TRUE(*decoded) << row.title;
        EXPECT_EQ(**decoded, row.step) << row.title;
    }
}

// The nodes of a cluster may run another version than srun: the text is an interface.
TEST(SentStep, IsAVersionTheStepAndWords) {
    EXPECT_EQ(encode({4242, 7, layout("n[1-3]", {{0, 3, 1, 1}, {0, 1, 4, 1}}), "10.0.0.1", false}),
              "v2 4242.7 rank0=10.0.0.1 layout=n[1-3] 0.3.1.1,0.1.4.1");
    EXPECT_EQ(encode({1, 2, std::nullopt, "", true}), "v2 1.2 refused");
    EXPECT_EQ(encode(bare(1, 2, false, true)), "v2 1.2 cpu_bind");
    EXPECT_EQ(encode(of_gpus(6)), "v2 4242.1 gpus=6");
    EXPECT_EQ(encode(of_plugin("/a/b.so")), "v2 4242.1 plugin=/a/b.so");
    EXPECT_EQ(encode({1, 2, ordered(layout("n[1-3]", {{0, 3, 1, 1}})), "", false}),
              "v2 1.2 layout=n[1-3] 0.3.1.1 n[3,2,1]");
    SentStep step{1, 2, layout("n1", {{0, 1, 1, 1}}), "", false};
    step.node_addresses = hosts("10.0.0.1");
    step.ntasks = step.helper = step.debugger = step.derived = step.configured = true;
    EXPECT_EQ(encode(step),
              "v2 1.2 ntasks helper debugger derived configured addresses=10.0.0.1 "
              "layout=n1 0.1.1.1");
}

// Without the order the ranks would be others on this node alone.
TEST(SentStep, AnOrderOfOtherNodesIsRefused) {
    EXPECT_EQ(refusal("layout=n[1-3] 0.3.1.1 n[3,2,1]"), "");
    for (const char* order :
         {"n[1-2]", "n[1-4]", "n[1-2,2]", "n[1-2,7]", "n[1-99999999]", "n[", "", "7"}) {
        const std::string message = refusal(std::string("layout=n[1-3] 0.3.1.1 ") + order);
        EXPECT_EQ(message.find("distgpu: SLURM_DISTGPU_STEP: "), 0U) << order;
    }
}

// Addresses of other nodes than the layout's would be taken for theirs.
TEST(SentStep, NeedsAnAddressForEachNode) {
    const std::string layout = " layout=n[1-2] 0.2.1.1";
    EXPECT_EQ(refusal("addresses=10.0.0.[1-2]" + layout), "");
    EXPECT_EQ(refusal("addresses=10.0.0.[1" + layout),
              in_variable("'addresses=10.0.0.[1' is malformed"));
    EXPECT_EQ(refusal("addresses=10.0.0.[1-3]" + layout),
              in_variable("not an address for each node"));
    EXPECT_EQ(refusal("addresses=10.0.0.[1-2]"), in_variable("not an address for each node"));
}

// Too many of them: the nodes look them up in slurm.conf.
TEST(SentStep, LeavesOutAddressesThatMakeItTooLong) {
    std::vector<std::string> addresses;
    for (int i = 0; i < 20'000; ++i) addresses.push_back(std::to_string(7919 * i) + ".example.org");
    SentStep step{1,          2,     layout("n[1-20000]", {{0, 20'000, 1, 1}}),
                  "10.0.0.1", false, HostList::from_names(addresses)};
    const auto decoded = decode_of(step.job, step.step, encode(step));
    ASSERT_TRUE(decoded);
    step.node_addresses = {};
    EXPECT_EQ(**decoded, step);
}

TEST(SentStep, AnAddressOrAPathThatIsNoneIsNotWritten) {
    for (const char* address : {"n\xff", "n1:29500", "n 1", "\x1b[0m"}) {
        EXPECT_EQ(encode({1, 2, std::nullopt, address, false}), "v2 1.2");
    }
    for (const char* file : {"spank_distgpu.so", "/a b.so", "/a\nb.so"}) {
        EXPECT_EQ(encode(of_plugin(file)), "v2 4242.1") << file;
    }
}

TEST(SentStep, AnotherVersionIsNotRead) {
    for (const char* text : {"", "v", "v2", "v3 1.2 refused", "v21.2", "V2 1.2", " v2 1.2",
                             "v1:{\"job_id\":1,\"step_id\":2}", "garbage"}) {
        const auto decoded = decode_of(1, 2, text);
        ASSERT_TRUE(decoded) << text;
        EXPECT_FALSE(decoded->has_value()) << text;
    }
}

TEST(SentStep, MalformedWordsAreRefused) {
    for (const std::string word :
         {"rank0=", "rank0=n1:29500", "gpus=", "gpus=-1", "gpus=many", "gpus=4294967296",
          "plugin=", "plugin=spank_distgpu.so", "plugin=/a\nb", "addresses="}) {
        std::string shown = word;
        std::replace(shown.begin(), shown.end(), '\n', '?');
        EXPECT_EQ(refusal(word), in_variable("'" + shown + "' is malformed")) << word;
    }
}

// A layout that contradicts itself never becomes one; the layout's own words say why.
TEST(SentStep, ForgedLayoutsAreRefused) {
    for (const char* nodes : {"", "n[1", "n[2-1]", "n1]", "n[1-99999999999]", "n\a"}) {
        EXPECT_EQ(refusal(std::string("layout=") + nodes + " 0.1.1.1"),
                  in_variable(HostList::parse(nodes).error()));
    }
    struct Row {
        const char* text;
        std::vector<TaskMapBlock> map;
    };
    const std::vector<Row> rows = {
        {"0.0.1.1", {{0, 0, 1, 1}}},
        {"0.3.1.1", {{0, 3, 1, 1}}},
        {"0.1.1.1", {{0, 1, 1, 1}}},
        {"4294967295.2.1.1", {{UINT32_MAX, 2, 1, 1}}},
        {"0.2.4294967295.4294967295", {{0, 2, UINT32_MAX, UINT32_MAX}}},
    };
    for (const auto& row : rows) {
        EXPECT_EQ(refusal(std::string("layout=n[1-2] ") + row.text),
                  in_variable(StepLayout::from_task_map(hosts("n[1-2]"), row.map).error()))
            << row.text;
    }
    for (const char* map : {"", "0.1.1", "0.1.1.1.1", "0.1.1.", "0.1.1.-1", "0.1.1.1.5", "0,1,1,1",
                            "0.1.1.4294967297", "0.1.1.1,"}) {
        EXPECT_EQ(refusal(std::string("layout=n1 ") + map),
                  in_variable(std::string("task map ") + map + ": not blocks of four numbers"));
    }
    EXPECT_EQ(refusal("layout=n1"), in_variable("task map : not blocks of four numbers"));
}

// Root asks slurmctld unless this is so, and reads nothing.
TEST(SentStep, SettlesTheLayoutThatItNames) {
    EXPECT_TRUE(has_layout_or_refusal("v2 1.2 cpu_bind layout=n1 0.1.1.1", 1, 2));
    EXPECT_TRUE(has_layout_or_refusal("v2 1.2 refused", 1, 2));
    for (const char* text : {"", "v2 1.2", "v2 1.2 cpu_bind", "v2 1.3 layout=n1 0.1.1.1",
                             "v3 1.2 layout=n1 0.1.1.1", "v2 1.2layout=n1"}) {
        EXPECT_FALSE(has_layout_or_refusal(text, 1, 2)) << text;
    }
}

// The nodes derive its layout.
TEST(SentStep, AnotherStepsIsNotRead) {
    const std::string text = encode({4242, 7, layout("n[1-2]", {{0, 2, 1, 1}}), "10.0.0.1", true});
    for (const auto& [job, step] : {std::pair{4242U, 8U}, std::pair{4243U, 7U}}) {
        const auto decoded = decode(text, {job, step, {2, 2}});
        ASSERT_TRUE(decoded);
        EXPECT_FALSE(*decoded);
    }
}

// Of a heterogeneous step srun knows one component.
TEST(SentStep, WithoutASizeTheLayoutIsNotRead) {
    const auto decoded = decode("v2 1.2 cpu_bind addresses=n[ layout=n[", {1, 2, {}});
    ASSERT_TRUE(decoded);
    EXPECT_EQ(*decoded, bare(1, 2, false, true));
}

// slurmstepd is root's and outside of every limit of the job.
TEST(SentStep, TextThatTheStepDoesNotNeedIsRefusedUnread) {
    const auto refused = [](const std::string& words, StepSize size) {
        const auto decoded = decode("v2 1.2 " + words, {1, 2, size});
        return decoded ? "" : decoded.error().message();
    };
    const std::string words = "x=" + std::string(1600, '[');
    EXPECT_EQ(refused(words, {1, 1}),
              in_variable("1609 characters, more than 1 task on 1 node need"));
    // The same text is ordinary for a larger step.
    EXPECT_EQ(refused(words, {8, 8}), "");
    // 131,070 blocks once its nodes are in order.
    EXPECT_EQ(refused("layout=n[1-3] 0.3.1.43690 n[1,3,2]", {3, 3}),
              in_variable("task map: 131070 tasks on 3 nodes, but Slurm started 3 on 3"));
    EXPECT_EQ(refused("layout=n1,b[1-4000000] 0.1.1.1", {1, 1}),
              in_variable("host list 'n1,b[1-4000000]' at character 4: more than 1 hosts"));
    EXPECT_EQ(refused("layout=a[1-512]b[1-512] 0.1.1.1", {1, 1}),
              in_variable("host list 'a[1-512]b[1-512]' at character 1: more than 1 hosts"));
}

TEST(SentStep, UnknownWordsOfALaterReleaseAreIgnored) {
    const auto decoded = decode_of(1, 2, "v2 1.2 later=[1] refused and");
    ASSERT_TRUE(decoded);
    EXPECT_EQ(*decoded, bare(1, 2, true, false));
}

// Linux takes 131,072 bytes of NAME=VALUE with its NUL.
TEST(SentStep, ALayoutTooLongForExecveIsLeftOut) {
    static_assert(sizeof("SLURM_DISTGPU_STEP=") + max_sent_length <= 131'072);
    std::uint32_t tasks = 16'300;
    while (tasks < 16'500 &&
           decode_of(4242, 0, encode(with_irregular_layout(tasks)))->value().layout) {
        ++tasks;
    }
    EXPECT_EQ(encode(with_irregular_layout(tasks)), "v2 4242.0 rank0=10.0.0.1");
    const SentStep longest = with_irregular_layout(tasks - 1);
    const std::string text = encode(longest);
    EXPECT_EQ(*decode_of(4242, 0, text), longest);
    EXPECT_LE(text.size(), max_sent_length);
    // A block takes eight bytes: one more would not have fitted.
    EXPECT_GT(text.size() + 16, max_sent_length);
}

// What docs/measurements.md says of 10,000 nodes with 8 tasks each.
TEST(SentStep, OfTenThousandNodes) {
    constexpr std::uint32_t nodes = 10'000;
    const HostList all = hosts("n[1-10000]");
    const auto sent = [](const StepLayout& layout) {
        return encode({4242, 0, layout, "10.0.0.1", false});
    };
    // Slurm's own distributions are a block or a few, whatever the number of nodes.
    const std::vector<TasksRun> even{{8, nodes}};
    const std::vector<TasksRun> uneven{{8, nodes / 2}, {7, nodes / 2}};
    using Kind = Distribution::Kind;
    for (const Distribution& distribution :
         {Distribution{Kind::block, 0}, Distribution{Kind::cyclic, 0},
          Distribution{Kind::plane, 4}}) {
        for (const auto& counts : {even, uneven}) {
            EXPECT_LT(sent(*StepLayout::distribute(all, counts, distribution)).size(), 200U);
        }
    }
    // In no order that the map could shorten: the last node first, then every other one.
    const auto node_by_node = [&](std::uint32_t rounds) {
        std::vector<std::uint32_t> node_of_task;
        for (std::uint32_t i = 0; i < rounds * nodes; ++i) {
            const std::uint32_t at = i % nodes;
            node_of_task.insert(node_of_task.end(), 8 / rounds,
                                at % 2 == 0 ? nodes - 1 - at / 2 : at / 2);
        }
        return *StepLayout::from_assignment(all, node_of_task);
    };
    // "NODE.1.8.1" for each node: 7 characters with the comma, and its 38,890 digits in all.
    const StepLayout once = node_by_node(1);
    EXPECT_GE(sent(once).size(), 7 * nodes + 38'890);
    EXPECT_LE(sent(once).size(), max_sent_length);
    EXPECT_EQ((*decode_of(4242, 0, sent(once)))->layout, once);
    // Nodes that come twice take twice as much, and the layout stays behind.
    EXPECT_EQ(sent(node_by_node(2)), "v2 4242.0 rank0=10.0.0.1");
}

LocalTasks on(std::uint32_t node, const std::vector<std::uint32_t>& tasks) {
    LocalTasks started{NodeIndex{node}, {}};
    for (const std::uint32_t task : tasks) started.tasks.push_back(TaskId{task});
    return started;
}

// 5,1,1 tasks, block: 0-4 on n1, 5 on n2, 6 on n3.
StepLayout block() {
    return layout("n[1-3]", {{0, 1, 5, 1}, {1, 2, 1, 1}});
}

// 5,1,1 tasks, cyclic: 0 and 3-6 on n1, 1 on n2, 2 on n3.
StepLayout cyclic() {
    return layout("n[1-3]", {{0, 3, 1, 1}, {0, 1, 4, 1}});
}

// 3 rounds of 2 on each of 3 nodes.
StepLayout plane() {
    return layout("n[1-3]", {{0, 3, 2, 3}});
}

TEST(LayoutCheck, TheSizeIsThatOfTheStep) {
    EXPECT_EQ(check_size(block(), {3, 7}), std::nullopt);
    for (const auto& [size, started] : {std::pair(StepSize{4, 7}, "7 on 4"), {{3, 8}, "8 on 3"}}) {
        EXPECT_EQ(
            check_size(block(), size)->message(),
            formatted("distgpu: task map: 7 tasks on 3 nodes, but Slurm started {}; run again "
                      "without SLURM_DISTGPU_STEP",
                      started));
    }
}

TEST(LayoutCheck, AcceptsWhatSlurmStarted) {
    EXPECT_EQ(check_layout(block(), on(0, {0, 1, 2, 3, 4})), std::nullopt);
    EXPECT_EQ(check_layout(block(), on(2, {6})), std::nullopt);
    EXPECT_EQ(check_layout(cyclic(), on(0, {0, 3, 4, 5, 6})), std::nullopt);
    EXPECT_EQ(check_layout(cyclic(), on(1, {1})), std::nullopt);
    EXPECT_EQ(check_layout(plane(), on(1, {2, 3, 8, 9, 14, 15})), std::nullopt);
}

TEST(LayoutCheck, RefusesEverythingElse) {
    const auto problem = [](const StepLayout& layout, const LocalTasks& started) {
        const auto refusal = check_layout(layout, started);
        return refusal ? refusal->object + ": " + refusal->problem : "";
    };
    EXPECT_EQ(check_layout(block(), on(3, {0}))->message(),
              "distgpu: task map: 3 nodes, but Slurm started a task on node number 3; run again "
              "without SLURM_DISTGPU_STEP");
    EXPECT_EQ(problem(block(), on(UINT32_MAX, {0})),
              "task map: 3 nodes, but Slurm started a task on node number 4294967295");
    EXPECT_EQ(problem(block(), on(0, {0, 1, 2, 3})),
              "task map: 5 tasks on n1, but Slurm started 4");
    EXPECT_EQ(problem(block(), on(1, {5, 6})), "task map: 1 tasks on n2, but Slurm started 2");
    EXPECT_EQ(problem(block(), on(2, {})), "task map: 1 tasks on n3, but Slurm started 0");
    EXPECT_EQ(problem(block(), on(1, {6})),
              "task map: task 5 has local rank 0 on n2, but Slurm started task 6");
    EXPECT_EQ(problem(block(), on(0, {0, 2, 1, 3, 4})),
              "task map: task 1 has local rank 1 on n1, but Slurm started task 2");
    // Block where Slurm dealt cyclic, and the other way round.
    EXPECT_EQ(problem(block(), on(0, {0, 3, 4, 5, 6})),
              "task map: task 1 has local rank 1 on n1, but Slurm started task 3");
    EXPECT_EQ(problem(cyclic(), on(0, {0, 1, 2, 3, 4})),
              "task map: task 3 has local rank 1 on n1, but Slurm started task 1");
    // The last task of the last round.
    EXPECT_EQ(problem(plane(), on(1, {2, 3, 8, 9, 14, 16})),
              "task map: task 15 has local rank 5 on n2, but Slurm started task 16");
}

// The second node of a component, with two of its tasks.
const ComponentTasks second_node{ComponentNode{1}, {ComponentTaskId{2}, ComponentTaskId{3}}};

TEST(Component, ComesAfterTheNodesAndTasksOfThoseBeforeIt) {
    // The only one.
    EXPECT_EQ(to_whole_step(second_node, {}), (LocalTasks{NodeIndex{1}, {TaskId{2}, TaskId{3}}}));
    // Behind a component with 4 nodes and 16 tasks.
    const auto before = component_offset(second_node, LocalRank{1}, NodeIndex{5}, TaskId{19});
    ASSERT_TRUE(before);
    EXPECT_EQ(*before, (ComponentOffset{4, 16}));
    EXPECT_EQ(to_whole_step(second_node, *before),
              (LocalTasks{NodeIndex{5}, {TaskId{18}, TaskId{19}}}));
    EXPECT_EQ(component_offset(second_node, LocalRank{0}, NodeIndex{5}, TaskId{18}), before);
}

TEST(Component, HasNoNumbersBelowItsOwn) {
    EXPECT_EQ(component_offset(second_node, LocalRank{0}, NodeIndex{0}, TaskId{18}), std::nullopt);
    EXPECT_EQ(component_offset(second_node, LocalRank{1}, NodeIndex{5}, TaskId{2}), std::nullopt);
}

StepLayout blocks(std::vector<std::string> nodes, std::vector<TasksRun> counts) {
    return *StepLayout::distribute(HostList::from_names(nodes), counts,
                                   Distribution{Distribution::Kind::block, 0});
}

// node01: tasks 0 and 1, node02: 2, node03: 3 and 4, node01 again: 5 and 6.
const StepLayout three_components = *StepLayout::from_components(
    std::vector{blocks({"node01", "node02"}, {{2, 1}, {1, 1}}), blocks({"node03"}, {{2, 1}}),
                blocks({"node01"}, {{2, 1}})});

ComponentTasks tasks_on_first_node(std::uint32_t count) {
    ComponentTasks component;
    for (std::uint32_t task = 0; task < count; ++task) {
        component.tasks.push_back(ComponentTaskId{task});
    }
    return component;
}

using Offsets = std::vector<ComponentOffset>;

TEST(PossibleOffsets, AreThoseThatFitNodeAndTasks) {
    const auto possible = [](const ComponentTasks& component, const char* node) {
        return possible_offsets(three_components, component, node);
    };
    EXPECT_EQ(possible(tasks_on_first_node(2), "node03"), (Offsets{{2, 3}}));
    EXPECT_EQ(possible({ComponentNode{1}, {ComponentTaskId{2}}}, "node02"), (Offsets{{0, 0}}));
    // Components of one shape share a node.
    EXPECT_EQ(possible(tasks_on_first_node(2), "node01"), (Offsets{{0, 0}, {3, 5}}));
    // A host may have another name than its node.
    EXPECT_EQ(possible(tasks_on_first_node(2), "host7"), (Offsets{{0, 0}, {2, 3}, {3, 5}}));
    // The layout is another's.
    EXPECT_EQ(possible(tasks_on_first_node(4), "node03"), Offsets{});
}

}  // namespace
}  // namespace distgpu
