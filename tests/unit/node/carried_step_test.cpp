// What srun tells the nodes: round trips, and text that a user forged.
#include "node/carried_step.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

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
CarriedStep bare(std::uint32_t job, std::uint32_t step, bool refused, bool cpu_bind) {
    return {job, step, std::nullopt, "", refused, {}, cpu_bind};
}

CarriedStep of_gpus(std::uint32_t gpus) {
    CarriedStep step = bare(4242, 1, false, false);
    step.gpus = gpus;
    return step;
}

CarriedStep of_plugin(std::string file) {
    CarriedStep step = bare(4242, 1, false, false);
    step.plugin_file = std::move(file);
    return step;
}

// Of a step of any size.
Result<std::optional<CarriedStep>> decode_of(std::uint32_t job, std::uint32_t step,
                                             std::string_view text) {
    return decode(text, {job, step, max_step_size});
}

// What decode() refuses with; "" where it does not.
std::string refusal(const std::string& json) {
    const auto decoded = decode_of(1, 2, "v1:" + json);
    return decoded ? "" : decoded.error().message();
}

std::string malformed(const std::string& what) {
    return "distgpu: SLURM_DISTGPU_STEP: " + what +
           " is missing or malformed; run again without SLURM_DISTGPU_STEP";
}

// Nodes that alternate against their order: a block of the map for each task.
CarriedStep with_irregular_layout(std::uint32_t tasks) {
    std::vector<std::uint32_t> nodes(tasks);
    for (std::uint32_t task = 0; task < tasks; ++task) nodes[task] = task % 2 == 0 ? 2 : 0;
    nodes.back() = 1;
    CarriedStep step{4242, 0, std::nullopt, "10.0.0.1", false};
    step.layout = *StepLayout::from_assignment(hosts("n[1-3]"), nodes);
    return step;
}

TEST(CarriedStep, IsReadAsWritten) {
    struct Row {
        const char* title;
        CarriedStep step;
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
TEST(CarriedStep, IsAVersionAndJson) {
    const std::string text =
        encode({4242, 7, layout("n[1-3]", {{0, 3, 1, 1}, {0, 1, 4, 1}}), "10.0.0.1", false});
    ASSERT_EQ(text.substr(0, 3), "v1:");
    EXPECT_EQ(nlohmann::json::parse(text.substr(3)),
              nlohmann::json::parse(R"({"job_id": 4242, "step_id": 7, "rank0_address": "10.0.0.1",
                  "nodes": "n[1-3]", "task_map": [[0,3,1,1],[0,1,4,1]]})"));
    EXPECT_EQ(nlohmann::json::parse(encode({1, 2, std::nullopt, "", true}).substr(3)),
              nlohmann::json::parse(R"({"job_id": 1, "step_id": 2, "refused": true})"));
    EXPECT_EQ(nlohmann::json::parse(encode(bare(1, 2, false, true)).substr(3)),
              nlohmann::json::parse(R"({"job_id": 1, "step_id": 2, "cpu_bind": true})"));
}

TEST(CarriedStep, AnOrderIsAListOfNodes) {
    const std::string text = encode({1, 2, ordered(layout("n[1-3]", {{0, 3, 1, 1}})), "", false});
    EXPECT_EQ(nlohmann::json::parse(text.substr(3)),
              nlohmann::json::parse(R"({"job_id": 1, "step_id": 2, "nodes": "n[1-3]",
                  "task_map": [[0,3,1,1]], "order": "n[3,2,1]"})"));
}

// Without the order the ranks would be others on this node alone.
TEST(CarriedStep, AnOrderOfOtherNodesIsRefused) {
    for (const char* order : {R"("n[1-2]")", R"("n[1-4]")", R"("n[1-2,2]")", R"("n[1-2,7]")",
                              R"("n[1-99999999]")", R"("n[")", "7", "null"}) {
        const std::string message = refusal(
            std::string(R"({"job_id":1,"step_id":2,"nodes":"n[1-3]","task_map":[[0,3,1,1]],)") +
            R"("order":)" + order + "}");
        EXPECT_EQ(message.find("distgpu: SLURM_DISTGPU_STEP: "), 0U) << order;
    }
}

// Addresses of other nodes than the layout's would be taken for theirs.
TEST(CarriedStep, NeedsAnAddressForEachNode) {
    const std::string step = R"(v1:{"job_id":1,"step_id":2,)";
    const std::string nodes = R"("nodes":"n[1-2]","task_map":[[0,2,1,1]],)";
    EXPECT_TRUE(decode_of(1, 2, step + nodes + R"("node_addresses":"10.0.0.[1-2]"})"));
    for (const std::string& text :
         {step + nodes + R"("node_addresses":"10.0.0.[1-3]"})",
          step + nodes + R"("node_addresses":"10.0.0.[1"})",
          step + nodes + R"("node_addresses":7})", step + R"("node_addresses":"10.0.0.[1-2]"})"}) {
        const auto decoded = decode_of(1, 2, text);
        ASSERT_FALSE(decoded) << text;
        EXPECT_EQ(decoded.error().message(),
                  "distgpu: SLURM_DISTGPU_STEP: \"node_addresses\" is missing or malformed; run "
                  "again without SLURM_DISTGPU_STEP");
    }
}

// Too many of them: the nodes look them up in slurm.conf.
TEST(CarriedStep, LeavesOutAddressesThatMakeItTooLong) {
    std::vector<std::string> addresses;
    for (int i = 0; i < 20'000; ++i) addresses.push_back(std::to_string(7919 * i) + ".example.org");
    CarriedStep step{1,          2,     layout("n[1-20000]", {{0, 20'000, 1, 1}}),
                     "10.0.0.1", false, HostList::from_names(addresses)};
    const auto decoded = decode_of(step.job, step.step, encode(step));
    ASSERT_TRUE(decoded);
    step.node_addresses = {};
    EXPECT_EQ(**decoded, step);
}

TEST(CarriedStep, AnAddressThatIsNoneIsNotWritten) {
    for (const char* address : {"n\xff", "n1:29500", "n 1", "\x1b[0m"}) {
        EXPECT_EQ(encode({1, 2, std::nullopt, address, false}), R"(v1:{"job_id":1,"step_id":2})");
    }
}

TEST(CarriedStep, AnotherVersionIsNotRead) {
    for (const char* text : {"", "v", "v1", "v2:{\"job_id\":1,\"step_id\":2}", "v10:{}", "V1:{}",
                             " v1:{}", "{}", "garbage"}) {
        const auto decoded = decode_of(1, 2, text);
        ASSERT_TRUE(decoded) << text;
        EXPECT_FALSE(decoded->has_value()) << text;
    }
}

TEST(CarriedStep, TextThatIsNoObjectIsRefused) {
    const std::vector<std::string> rows = {
        "",
        "{",
        "}",
        "[]",
        "null",
        "4242",
        "\"x\"",
        "{\"job_id\":1,\"step_id\":2",
        "{} {}",
        "{'job':1}",
        "{\"a\":}",
        "{\"job_id\":1,\"step_id\":2,}",
        "nan",
        "{\"a\":\x01}",
        "\xff",
        R"({"job_id":1,"step_id":2,"x":"\ud800"})",
        std::string(100'000, '['),
    };
    for (const auto& row : rows) {
        EXPECT_EQ(refusal(row), malformed("the JSON object")) << row.substr(0, 60);
    }
}

TEST(CarriedStep, IdsOutOfRangeAreRefused) {
    const std::string ids = malformed("\"job_id\" or \"step_id\"");
    for (const char* json :
         {R"({})", R"({"job_id":1})", R"({"step_id":2})", R"({"job_id":4294967296,"step_id":2})",
          R"({"job_id":1,"step_id":4294967296})", R"({"job_id":-1,"step_id":2})",
          R"({"job_id":1.0,"step_id":2})", R"({"job_id":1e3,"step_id":2})",
          R"({"job_id":"1","step_id":2})", R"({"job_id":null,"step_id":2})",
          R"({"job_id":[1],"step_id":2})", R"({"job_id":true,"step_id":2})",
          R"({"job_id":18446744073709551617,"step_id":2})"}) {
        EXPECT_EQ(refusal(json), ids) << json;
    }
}

TEST(CarriedStep, MalformedMembersAreRefused) {
    struct Row {
        const char* members;
        const char* named;
    };
    const std::vector<Row> rows = {
        {R"("rank0_address":7)", "\"rank0_address\""},
        {R"("plugin":7)", "\"plugin\""},
        {R"("plugin":"spank_distgpu.so")", "\"plugin\""},
        {R"("plugin":"/a\\nb")", "\"plugin\""},
        {R"("rank0_address":null)", "\"rank0_address\""},
        {R"("rank0_address":"")", "\"rank0_address\""},
        {R"("rank0_address":"n1:29500")", "\"rank0_address\""},
        {R"("refused":1)", "\"refused\""},
        {R"("cpu_bind":1)", "\"cpu_bind\""},
        {R"("cpu_bind":"cores")", "\"cpu_bind\""},
        {R"("cpu_bind":null)", "\"cpu_bind\""},
        {R"("task_map":[[0,1,1,1]])", "\"nodes\""},
        {R"("nodes":7,"task_map":[[0,1,1,1]])", "\"nodes\""},
        {R"("nodes":["n1"],"task_map":[[0,1,1,1]])", "\"nodes\""},
        {R"("nodes":null,"task_map":[[0,1,1,1]])", "\"nodes\""},
        {R"("nodes":"n1")", "\"task_map\""},
        {R"("nodes":"n1","task_map":null)", "\"task_map\""},
        {R"("nodes":"n1","task_map":"[0,1,1,1]")", "\"task_map\""},
        {R"("nodes":"n1","task_map":{"0":1})", "\"task_map\""},
        {R"("nodes":"n1","task_map":[0,1,1,1])", "\"task_map\""},
        {R"("nodes":"n1","task_map":[[0,1,1]])", "\"task_map\""},
        {R"("nodes":"n1","task_map":[[0,1,1,1,1]])", "\"task_map\""},
        {R"("nodes":"n1","task_map":[[0,1,1,-1]])", "\"task_map\""},
        {R"("nodes":"n1","task_map":[[0,1,1,1.5]])", "\"task_map\""},
        {R"("nodes":"n1","task_map":[[0,1,1,"1"]])", "\"task_map\""},
        {R"("nodes":"n1","task_map":[[0,1,1,4294967297]])", "\"task_map\""},
        {R"("nodes":"n1","task_map":[[0,1,1,1],[]])", "\"task_map\""},
        {R"("nodes":"n1","task_map":[[[],1,1,1]])", "\"task_map\""},
    };
    for (const auto& row : rows) {
        const std::string json = std::string(R"({"job_id":1,"step_id":2,)") + row.members + "}";
        EXPECT_EQ(refusal(json), malformed(row.named)) << row.members;
    }
}

// What a refused layout says, as the refusal of the whole variable.
std::string in_variable(const Error& error) {
    return "distgpu: SLURM_DISTGPU_STEP: " + error.object + ": " + error.problem +
           "; run again without SLURM_DISTGPU_STEP";
}

TEST(CarriedStep, FlagsAreWhatTheySay) {
    const auto with_flags = [](const char* flags) {
        const auto decoded =
            decode_of(1, 2, std::string(R"(v1:{"job_id":1,"step_id":2,)") + flags + "}");
        EXPECT_TRUE(decoded && *decoded) << flags;
        return decoded && *decoded ? **decoded : CarriedStep{};
    };
    EXPECT_EQ(with_flags(R"("refused":true,"cpu_bind":false)"), bare(1, 2, true, false));
    EXPECT_EQ(with_flags(R"("refused":false,"cpu_bind":true)"), bare(1, 2, false, true));
}

// A layout that contradicts itself never becomes one; the layout's own words say why.
TEST(CarriedStep, ForgedLayoutsAreRefused) {
    const auto with_layout = [](const std::string& nodes, const std::string& map) {
        return R"({"job_id":1,"step_id":2,"nodes":")" + nodes + R"(","task_map":)" + map + "}";
    };
    for (const char* nodes : {"", "n[1", "n[2-1]", "n1]", "n[1-99999999999]", "n\\u0007"}) {
        const std::string text = std::string(nodes) == "n\\u0007" ? "n\a" : nodes;
        EXPECT_EQ(refusal(with_layout(nodes, "[[0,1,1,1]]")),
                  in_variable(HostList::parse(text).error()));
    }
    struct Row {
        const char* json;
        std::vector<TaskMapBlock> map;
    };
    const std::vector<Row> rows = {
        {"[]", {}},
        {"[[0,0,1,1]]", {{0, 0, 1, 1}}},
        {"[[0,3,1,1]]", {{0, 3, 1, 1}}},
        {"[[0,1,1,1]]", {{0, 1, 1, 1}}},
        {"[[4294967295,2,1,1]]", {{UINT32_MAX, 2, 1, 1}}},
        {"[[0,2,4294967295,4294967295]]", {{0, 2, UINT32_MAX, UINT32_MAX}}},
    };
    for (const auto& row : rows) {
        EXPECT_EQ(refusal(with_layout("n[1-2]", row.json)),
                  in_variable(StepLayout::from_task_map(hosts("n[1-2]"), row.map).error()))
            << row.json;
    }
}

// The nodes derive its layout.
TEST(CarriedStep, AnotherStepsIsNotRead) {
    const std::string text = encode({4242, 7, layout("n[1-2]", {{0, 2, 1, 1}}), "10.0.0.1", true});
    for (const auto& [job, step] : {std::pair{4242U, 8U}, std::pair{4243U, 7U}}) {
        const auto decoded = decode(text, {job, step, {2, 2}});
        ASSERT_TRUE(decoded);
        EXPECT_FALSE(*decoded);
    }
}

// Of a heterogeneous step srun knows one component.
TEST(CarriedStep, WithoutASizeTheLayoutIsNotRead) {
    const auto decoded = decode(R"(v1:{"job_id":1,"step_id":2,"cpu_bind":true,"nodes":"n1",)"
                                R"("task_map":7,"node_addresses":[]})",
                                {1, 2, {}});
    ASSERT_TRUE(decoded);
    EXPECT_EQ(*decoded, bare(1, 2, false, true));
}

// slurmstepd is root's and outside of every limit of the job.
TEST(CarriedStep, TextThatTheStepDoesNotNeedIsRefusedUnread) {
    const auto refused = [](const std::string& members, StepSize size) {
        const auto decoded = decode(R"(v1:{"job_id":1,"step_id":2,)" + members + "}", {1, 2, size});
        return decoded ? "" : decoded.error().message();
    };
    const std::string members = R"("x":")" + std::string(1600, '[') + "\"";
    const std::size_t length =
        std::string(R"(v1:{"job_id":1,"step_id":2,})").size() + members.size();
    EXPECT_EQ(refused(members, {1, 1}),
              "distgpu: SLURM_DISTGPU_STEP: " + std::to_string(length) +
                  " characters, more than 1 task on 1 node need; run again without "
                  "SLURM_DISTGPU_STEP");
    // 131,070 blocks once its nodes are in order.
    EXPECT_EQ(refused(R"("nodes":"n[1-3]","task_map":[[0,3,1,43690]],"order":"n[1,3,2]")", {3, 3}),
              "distgpu: SLURM_DISTGPU_STEP: task map: 131070 tasks on 3 nodes, but Slurm started 3 "
              "on 3; run again without SLURM_DISTGPU_STEP");
    // The same text is ordinary for a larger step.
    EXPECT_EQ(refused(members, {2, 2}), "");
    EXPECT_EQ(refused(R"("nodes":"n1,b[1-4000000]","task_map":[[0,1,1,1]])", {1, 1}),
              "distgpu: SLURM_DISTGPU_STEP: host list 'n1,b[1-4000000]' at character 4: more than "
              "1 hosts; run again without SLURM_DISTGPU_STEP");
    EXPECT_EQ(refused(R"("nodes":"a[1-512]b[1-512]","task_map":[[0,1,1,1]])", {1, 1}),
              "distgpu: SLURM_DISTGPU_STEP: host list 'a[1-512]b[1-512]' at character 1: more than "
              "1 hosts; run again without SLURM_DISTGPU_STEP");
}

TEST(CarriedStep, UnknownMembersOfALaterVersionAreIgnored) {
    const auto decoded = decode_of(1, 2, R"(v1:{"job_id":1,"step_id":2,"later":[{"x":null}]})");
    ASSERT_TRUE(decoded);
    EXPECT_EQ(*decoded, (CarriedStep{1, 2, std::nullopt, "", false}));
}

// Linux takes 131,072 bytes of NAME=VALUE with its NUL.
TEST(CarriedStep, ALayoutTooLongForExecveIsLeftOut) {
    static_assert(sizeof("SLURM_DISTGPU_STEP=") + max_carried_length <= 131'072);
    std::size_t longest = 0;
    bool dropped = false;
    for (std::uint32_t tasks = 13'000; tasks < 13'200; ++tasks) {
        const CarriedStep step = with_irregular_layout(tasks);
        const std::string text = encode(step);
        ASSERT_LE(text.size(), max_carried_length);
        const auto decoded = decode_of(step.job, step.step, text);
        ASSERT_TRUE(decoded);
        ASSERT_TRUE(*decoded);
        if (!(*decoded)->layout) {
            dropped = true;
            EXPECT_EQ(**decoded, (CarriedStep{4242, 0, std::nullopt, "10.0.0.1", false}));
            break;
        }
        EXPECT_EQ(**decoded, step);
        longest = text.size();
    }
    EXPECT_TRUE(dropped);
    // A block takes ten bytes: one more would not have fitted.
    EXPECT_GT(longest + 20, max_carried_length);
}

// Each node's tasks in one stretch, in no order that the map could shorten: the last node first,
// then every other one.
std::vector<std::uint32_t> node_by_node(std::uint32_t nodes, std::uint32_t tasks_each) {
    std::vector<std::uint32_t> node_of_task;
    for (std::uint32_t at = 0; at < nodes; ++at) {
        const std::uint32_t node = at % 2 == 0 ? nodes - 1 - at / 2 : at / 2;
        node_of_task.insert(node_of_task.end(), tasks_each, node);
    }
    return node_of_task;
}

// What docs/performance.md says of 10,000 nodes with 8 tasks each.
TEST(CarriedStep, OfTenThousandNodes) {
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
    // "[NODE,1,8,1]" for each node: 9 characters with the comma, and its 38,890 digits in all.
    const auto in_turn = *StepLayout::from_assignment(all, node_by_node(nodes, 8));
    const std::string once = sent(in_turn);
    EXPECT_GE(once.size(), 9 * nodes + 38'890);
    EXPECT_LE(once.size(), max_carried_length);
    EXPECT_EQ((*decode_of(4242, 0, once))->layout, in_turn);
    // Nodes that come twice take twice as much, and the layout stays behind.
    auto twice = node_by_node(nodes, 4);
    const auto first_half = twice;
    twice.insert(twice.end(), first_half.begin(), first_half.end());
    EXPECT_EQ(sent(*StepLayout::from_assignment(all, twice)),
              R"(v1:{"job_id":4242,"step_id":0,"rank0_address":"10.0.0.1"})");
}

}  // namespace
}  // namespace distgpu
