// Ranks that got the same, and those that have something otherwise.
#include "explain/explanation.h"

#include "tools/explain/made_up_facts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace distgpu {
namespace {

using Numbers = std::vector<std::uint32_t>;
using Sentences = std::vector<std::string>;
using Since = Change::Since;

TEST(Explanation, OfEqualRanksIsOneGroup) {
    const auto explanation = explain({made_up_facts("n1", 0), made_up_facts("n2", 2)}, {});
    ASSERT_EQ(explanation.groups.size(), 1U);
    EXPECT_EQ(explanation.groups[0].ranks, (Numbers{0, 1, 2, 3}));
    EXPECT_EQ(explanation.groups[0].nodes, (Sentences{"n1", "n2"}));
    EXPECT_EQ(explanation.groups[0].otherwise, Sentences{});
    EXPECT_EQ(explanation.spec, "pytorch");
    EXPECT_EQ(explanation.nodes, 2U);
}

TEST(Explanation, TellsTheOddOnesFirstAndTheFewestFirst) {
    NodeFactsNow one = made_up_facts("n1", 0);
    NodeFactsNow other = made_up_facts("n2", 2);
    for (RankFacts& rank : other.ranks) {
        rank.changes = {{Since::start, "NCCL_ALGO", std::nullopt, "Tree"}};
    }
    one.ranks[1].changes = {{Since::start, "CPUs", "4-7", "4"}};
    const auto groups = explain({other, one}, {}).groups;
    ASSERT_EQ(groups.size(), 3U);
    EXPECT_EQ(groups[0].ranks, Numbers{1});
    EXPECT_EQ(groups[0].otherwise, Sentences{"runs on CPU 4, and its task began on CPUs 4-7"});
    EXPECT_EQ(groups[1].ranks, (Numbers{2, 3}));
    EXPECT_EQ(groups[1].otherwise,
              Sentences{"NCCL_ALGO is Tree, and was not set when the task began"});
    EXPECT_EQ(groups[2].ranks, Numbers{0});
}

// As of threads that OMP_PROC_BIND binds, each to its own.
TEST(Explanation, TellsTogetherWhoIsNarrowedAlike) {
    NodeFactsNow node = made_up_facts("n1", 0);
    node.ranks[0].changes = {{Since::start, "CPUs", "0-3", "0"}};
    node.ranks[1].changes = {{Since::start, "CPUs", "4-7", "4"}};
    auto groups = explain({node}, {}).groups;
    ASSERT_EQ(groups.size(), 1U);
    EXPECT_EQ(groups[0].otherwise, Sentences{"each runs on 1 CPU, and its task began on 4 CPUs"});
    node.ranks[1].changes = {{Since::start, "CPUs", "4-7", "4-5"}};
    EXPECT_EQ(explain({node}, {}).groups.size(), 2U);
    // What a forged answer might say.
    for (RankFacts& rank : node.ranks) rank.changes = {{Since::start, "CPUs", "x", std::nullopt}};
    node.ranks[0].changes[0].then = "y";
    groups = explain({node}, {}).groups;
    EXPECT_EQ(groups[0].otherwise, Sentences{"each runs on 0 CPUs, and its task began on 0 CPUs"});
}

TEST(Explanation, TellsTogetherWhoIsNumberedOtherwise) {
    NodeFactsNow node = made_up_facts("n1", 0);
    node.ranks[0].changes = {{Since::planned, "LOCAL_RANK", "0", "1"}};
    node.ranks[1].changes = {{Since::planned, "LOCAL_RANK", "1", "0"}};
    const auto groups = explain({node}, {}).groups;
    ASSERT_EQ(groups.size(), 1U);
    EXPECT_EQ(groups[0].otherwise,
              Sentences{"LOCAL_RANK is not what distgpu plans; --rank R tells each"});
}

// A wrapper that became the program left no trace but this.
TEST(Explanation, ComparesTheRanks) {
    NodeFactsNow one = made_up_facts("n1", 0);
    NodeFactsNow other = made_up_facts("n2", 2);
    other.ranks[0].variables = {{"NCCL_ALGO", "Tree"}, {"NCCL_DEBUG", "INFO"}, {"RANK", "2"}};
    other.ranks[1].gpus.pop_back();
    auto groups = explain({one, other}, {}).groups;
    ASSERT_EQ(groups.size(), 3U);
    EXPECT_EQ(groups[0].ranks, Numbers{2});
    EXPECT_EQ(groups[0].otherwise, (Sentences{"NCCL_ALGO is Tree, but not set for other ranks",
                                              "NCCL_DEBUG is INFO, but WARN for other ranks"}));
    EXPECT_EQ(groups[1].otherwise, Sentences{"GPUs that it may use: 1, and of other ranks: 2"});
    // Of two halves it is the value of rank 0 that counts, but rather none.
    for (RankFacts& rank : other.ranks) {
        rank = made_up_rank(rank.rank);
        rank.variables[0].value = "INFO";
    }
    for (RankFacts& rank : one.ranks) rank.variables.push_back({"NCCL_ALGO", "Tree"});
    groups = explain({one, other}, {}).groups;
    ASSERT_EQ(groups.size(), 2U);
    EXPECT_EQ(groups[0].otherwise, Sentences{"NCCL_ALGO is Tree, but not set for other ranks"});
    EXPECT_EQ(groups[1].otherwise, Sentences{"NCCL_DEBUG is INFO, but WARN for other ranks"});
}

TEST(Explanation, SaysAChangeOnce) {
    NodeFactsNow one = made_up_facts("n1", 0);
    one.ranks[1].variables[0].value = "INFO";
    one.ranks[1].changes = {{Since::start, "NCCL_DEBUG", "WARN", "INFO"}};
    const auto groups = explain({one, made_up_facts("n2", 2)}, {}).groups;
    EXPECT_EQ(groups[0].otherwise,
              Sentences{"NCCL_DEBUG is INFO, and was WARN when the task began"});
}

TEST(Explanation, ComparesNoneOfAHiddenRank) {
    NodeFactsNow node = made_up_facts("n1", 0);
    node.ranks[1].variables.clear();
    node.ranks[1].gpus.clear();
    node.ranks[1].is_hidden = true;
    const auto explanation = explain({node}, {});
    EXPECT_EQ(explanation.groups.size(), 1U);
    ASSERT_EQ(explanation.notes.size(), 2U);
    EXPECT_EQ(explanation.notes[0],
              "rank 1: the kernel shows nobody the variables of a program that forbids it "
              "(PR_SET_DUMPABLE)");
}

TEST(Explanation, LeavesOutTasksWhereOthersHaveRanks) {
    NodeFactsNow launcher = made_up_facts("n2", 0);
    launcher.by_variable = false;
    const auto explanation = explain({made_up_facts("n1", 0), launcher}, {});
    EXPECT_EQ(explanation.ranks.size(), 2U);
    EXPECT_EQ(explanation.ranks[0].node, "n1");
    EXPECT_EQ(explain({launcher}, {}).ranks.size(), 2U);
}

TEST(Explanation, NotesWhatWasNotSeen) {
    NodeFactsNow plain = made_up_facts("n2", 2);
    plain.spec.clear();
    const NodeFactsNow failed{.node = "n3", .problem = "distgpu: scontrol: not found"};
    const auto explanation = explain({made_up_facts("n1", 0), plain, failed}, {"n4"});
    EXPECT_EQ(explanation.silent, Sentences{"n4"});
    EXPECT_EQ(explanation.nodes, 4U);
    ASSERT_EQ(explanation.notes.size(), 3U);
    EXPECT_EQ(explanation.notes[0], "distgpu: scontrol: not found");
    EXPECT_EQ(explanation.notes[1], "distgpu did not prepare the tasks on n2");
    EXPECT_EQ(explain({failed}, {}).notes.size(), 1U);
}

TEST(ChangeText, IsASentence) {
    EXPECT_EQ(to_text({Since::given, "NCCL_IB_HCA", "mlx5_0", std::nullopt}),
              "NCCL_IB_HCA is not set, but distgpu gave mlx5_0");
    EXPECT_EQ(to_text({Since::planned, "RANK", "1", "2"}), "RANK is 2, but distgpu plans 1");
    EXPECT_EQ(to_text({Since::planned, "PET_RDZV_ENDPOINT", std::nullopt, "x"}),
              "PET_RDZV_ENDPOINT is x, but distgpu plans not set");
    EXPECT_EQ(to_text({Since::start, "NCCL_ALGO", "Ring", ""}),
              "NCCL_ALGO is empty, and was Ring when the task began");
}

}  // namespace
}  // namespace distgpu
