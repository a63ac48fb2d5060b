// An explanation as text and as JSON.
#include "explain/explanation_output.h"

#include "tools/explain/made_up_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace distgpu {
namespace {

using nlohmann::json;
using testing::HasSubstr;

Explanation one_odd() {
    NodeFactsNow one = made_up_facts("n1", 0);
    one.ranks[1].changes = {{Change::Since::start, "NCCL_ALGO", std::nullopt, "Tree"}};
    one.ranks[1].variables.push_back({"NCCL_ALGO", "Tree"});
    one.ranks[1].launchers = {"811 bash wrap.sh"};
    one.ranks[1].open_gpus = {"/dev/nvidia0"};
    return explain({one, made_up_facts("n2", 2)}, {"n3"});
}

TEST(ExplanationText, TellsTheOddOnesFirst) {
    EXPECT_EQ(explanation_text("5.0", one_odd(), false),
              R"(step 5.0: 4 ranks on 3 nodes, prepared by --distgpu=pytorch

rank 1 on n1:
  NCCL_ALGO is Tree, and was not set when the task began
ranks 0,2-3 on n1, n2 have what they began with

  RANKS        NODES  LOCAL  CPUS     GPUS  HCAS
  rank 1       n1     1      4-7      0,1   -
  ranks 0,2-3  n1,n2  0 1    0-3 4-7  0,1   -

no answer from n3

Variables are those with which each process began: what a program sets itself afterwards (os.environ, setenv), the kernel does not show.
)");
}

TEST(ExplanationText, SaysThatDistgpuDidNotPrepareTheStep) {
    NodeFactsNow node = made_up_facts("n1", 0);
    node.spec.clear();
    EXPECT_THAT(explanation_text("5.0", explain({node}, {}), false),
                HasSubstr("step 5.0: 2 ranks on 1 node, which distgpu did not prepare\n"));
    EXPECT_EQ(explanation_text("5.0", explain({}, {"n1"}), false),
              "step 5.0: 0 ranks on 1 node\n\nno rank was seen\n\nno answer from n1\n");
}

TEST(ExplanationText, CountsManyKinds) {
    NodeFactsNow node{.node = "n1", .spec = "pytorch", .by_variable = true};
    for (std::uint32_t rank = 0; rank < 8; ++rank) {
        node.ranks.push_back(made_up_rank(rank));
        node.ranks.back().cpus = std::to_string(rank);
    }
    EXPECT_THAT(explanation_text("5.0", explain({node}, {}), false), HasSubstr("  8 kinds  "));
}

TEST(ExplanationText, SteersNoTerminal) {
    NodeFactsNow node = made_up_facts("n1", 0);
    node.spec = "pytorch\x1b[2J";
    node.ranks[0].changes = {{Change::Since::start, "NCCL_X", std::nullopt, "\x1b]0;evil\a\n"}};
    node.ranks[0].command = "python3 \x1b[31m";
    node.ranks[0].variables.push_back({"NCCL_X", "\x1b]0;evil\a\n"});
    const auto explanation = explain({node}, {});
    EXPECT_EQ(explanation_text("5.0", explanation, false).find('\x1b'), std::string::npos);
    EXPECT_EQ(rank_text(explanation, 0, false)->find('\x1b'), std::string::npos);
}

TEST(RankText, HasAllOfOneRank) {
    EXPECT_EQ(rank_text(one_odd(), 1, false),
              R"(rank 1 on n1, local rank 1, task 1: process 101 python3 train.py
  started by 811 bash wrap.sh
  CPUs 4-7
  GPU 0, 0000:06:00.0, /dev/nvidia0, H100
  GPU 1, 0000:07:00.0
  open /dev/nvidia0

  VARIABLE    VALUE
  NCCL_DEBUG  WARN
  RANK        1
  NCCL_ALGO   Tree   when the task began: not set

no answer from n3

Variables are those with which each process began: what a program sets itself afterwards (os.environ, setenv), the kernel does not show.
)");
    EXPECT_EQ(rank_text(one_odd(), 4, false), std::nullopt);
}

TEST(RankText, HasWhatIsNoLongerThere) {
    NodeFactsNow node = made_up_facts("n1", 0);
    node.ranks[0].changes = {{Change::Since::given, "NCCL_IB_HCA", "mlx5_0", std::nullopt},
                             {Change::Since::start, "CPUs", "0-7", "0-3"}};
    node.ranks[0].cpus_then = "0-7";
    const std::string text = *rank_text(explain({node}, {}), 0, false);
    EXPECT_THAT(text, HasSubstr("  CPUs 0-3; its task began on 0-7\n"));
    EXPECT_THAT(text, HasSubstr("  NCCL_IB_HCA  not set  distgpu gave: mlx5_0\n"));
}

TEST(ExplanationJson, HasWhatTheTextHas) {
    const json read = json::parse(explanation_json("5.0", one_odd()));
    EXPECT_EQ(read["schema"], "distgpu.explain/1");
    EXPECT_EQ(read["step"], "5.0");
    EXPECT_EQ(read["spec"], "pytorch");
    EXPECT_EQ(read["groups"], json::parse(R"([
        {"ranks": [1], "nodes": ["n1"],
         "otherwise": ["NCCL_ALGO is Tree, and was not set when the task began"]},
        {"ranks": [0, 2, 3], "nodes": ["n1", "n2"], "otherwise": []}])"));
    ASSERT_EQ(read["ranks"].size(), 4U);
    EXPECT_EQ(read["ranks"][1]["node"], "n1");
    EXPECT_EQ(read["ranks"][1]["facts"]["changes"], json::parse(R"([
        {"since": "start", "name": "NCCL_ALGO", "then": null, "now": "Tree"}])"));
    EXPECT_EQ(read["silent"], json::array({"n3"}));
    const json one = json::parse(*rank_json("5.0", one_odd(), 1));
    EXPECT_EQ(one["ranks"].size(), 1U);
    EXPECT_EQ(rank_json("5.0", one_odd(), 4), std::nullopt);
}

}  // namespace
}  // namespace distgpu
