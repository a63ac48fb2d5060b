// What a node sends of its ranks.
#include "inspect/rank_facts.h"

#include "tools/explain/made_up_facts.h"

#include <gtest/gtest.h>

#include <string>

namespace distgpu {
namespace {

NodeFactsNow full_facts() {
    NodeFactsNow facts = made_up_facts("node01", 0);
    facts.problem = "distgpu: scontrol: did not end in time";
    RankFacts& rank = facts.ranks[0];
    rank.launchers = {"811 bash wrap.sh \"x\"\n"};
    rank.open_gpus = {"/dev/nvidia0"};
    rank.is_hidden = true;
    rank.local_rank.reset();
    rank.cpus_then.clear();
    rank.changes = {{Change::Since::start, "NCCL_ALGO", std::nullopt, "Tree"},
                    {Change::Since::given, "NCCL_IB_HCA", "mlx5_0", ""},
                    {Change::Since::planned, "RANK", "1", std::nullopt},
                    {Change::Since::others, "NCCL_P2P_DISABLE", "0", "1"}};
    return facts;
}

TEST(NodeFactsNow, IsReadAsItWasWritten) {
    EXPECT_EQ(read_node_facts_now(to_json(full_facts()).line()), full_facts());
    const NodeFactsNow failed{.node = "node02", .problem = "no step runs here"};
    EXPECT_EQ(read_node_facts_now(to_json(failed).line()), failed);
}

TEST(NodeFactsNow, IsOneLine) {
    EXPECT_EQ(to_json(full_facts()).line().find('\n'), std::string::npos);
}

std::string with(const std::string& from, const std::string& to) {
    std::string text = to_json(full_facts()).line();
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

TEST(NodeFactsNow, OfAnotherReleaseIsNone) {
    EXPECT_FALSE(read_node_facts_now(with("rank-facts/1", "rank-facts/2")));
    EXPECT_FALSE(read_node_facts_now(with(R"("ranks")", R"("tasks")")));
    EXPECT_FALSE(read_node_facts_now(with(R"("since":"start")", R"("since":"birth")")));
    EXPECT_FALSE(read_node_facts_now(with(R"("rank":0)", R"("rank":4294967296)")));
    EXPECT_FALSE(read_node_facts_now(with(R"("pid":100)", R"("pid":-1)")));
    EXPECT_FALSE(read_node_facts_now(with(R"("hidden":true)", R"("hidden":1)")));
    // What a later one adds is no harm.
    EXPECT_TRUE(read_node_facts_now(with(R"("node")", R"("new": [1], "node")")));
    for (const char* const text : {"", "{}", "[]", "Traceback (most recent call last):"}) {
        EXPECT_FALSE(read_node_facts_now(text)) << text;
    }
}

}  // namespace
}  // namespace distgpu
