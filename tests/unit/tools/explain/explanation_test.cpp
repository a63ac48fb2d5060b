// Ranks that got the same, and those that have something otherwise.
#include "explain/explanation.h"

#include "mapping/frameworks/framework.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

using Changes = std::vector<Change>;
using Numbers = std::vector<std::uint32_t>;
using Sentences = std::vector<std::string>;
using Since = Change::Since;
using Variables = EnvironmentCopy::Variables;
using nlohmann::json;
using testing::HasSubstr;

ProcessSample made_up_rank(std::uint32_t rank) {
    ProcessSample process;
    process.pid = static_cast<pid_t>(100 + rank);
    process.command = "python3 train.py";
    process.task = rank;
    process.rank = rank;
    process.moments = {{.state = 'S'}};
    process.gpus = {{"0", "0000:06:00.0", "/dev/nvidia0", "H100"}, {"1", "0000:07:00.0"}};
    process.facts =
        RankFacts{.local_rank = rank % 2,
                  .task = rank,
                  .cpus = rank % 2 == 0 ? "0-3" : "4-7",
                  .cpus_at_start = rank % 2 == 0 ? "0-3" : "4-7",
                  .variables = {{"NCCL_DEBUG", "WARN"}, {"RANK", std::to_string(rank)}}};
    return process;
}

// Two ranks, the first of which is `first`.
NodeSample made_up_facts(const std::string& node, std::uint32_t first) {
    return {.node = node,
            .spec = "pytorch",
            .times = {0},
            .processes = {made_up_rank(first), made_up_rank(first + 1)}};
}

const Framework* mode(const char* name) {
    return find_framework(name);
}

Changes changed(const Variables& task, const Variables& rank, const Framework* framework,
                const TaskPlan* plan = nullptr) {
    return changed_variables(EnvironmentCopy(task), EnvironmentCopy(rank), framework, plan);
}

TEST(ChangedVariables, AreThoseOfAWrapper) {
    const Variables task{{"NCCL_DEBUG", "WARN"}, {"OMP_NUM_THREADS", "4"}, {"PATH", "/bin"}};
    const Variables rank{{"NCCL_ALGO", "Tree"}, {"OMP_NUM_THREADS", "8"}, {"PATH", "/opt"}};
    EXPECT_EQ(changed(task, rank, mode("pytorch")),
              (Changes{{Since::start, "NCCL_ALGO", std::nullopt, "Tree"},
                       {Since::start, "NCCL_DEBUG", "WARN", std::nullopt},
                       {Since::start, "OMP_NUM_THREADS", "4", "8"}}));
    EXPECT_EQ(changed(task, task, mode("pytorch")), Changes{});
}

TEST(ChangedVariables, AreNotThoseThatALauncherGives) {
    const Variables task{{"NODE_RANK", "1"}, {"MASTER_PORT", "29500"}};
    Variables rank{
        {"NODE_RANK", "1"},  {"MASTER_PORT", "41234"}, {"RANK", "3"},
        {"LOCAL_RANK", "1"}, {"WORLD_SIZE", "4"},      {"TORCHELASTIC_RUN_ID", "5.0"},
        {"ROLE_RANK", "3"},  {"GROUP_RANK", "1"},      {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"}};
    for (const Framework* const framework : {mode("torchrun"), mode("")}) {
        EXPECT_EQ(changed(task, rank, framework), Changes{});
    }
    rank["NCCL_ALGO"] = "Tree";
    EXPECT_EQ(changed(task, rank, mode("torchrun")),
              (Changes{{Since::start, "NCCL_ALGO", std::nullopt, "Tree"}}));
    // Where Slurm starts the ranks, nobody else has to.
    EXPECT_EQ(changed(task, rank, mode("pytorch")).size(), 9U);
}

TEST(ChangedVariables, AreThoseThatDistgpuGave) {
    const std::string given = "MASTER_ADDR=n1 NCCL_SOCKET_IFNAME==eth0 NCCL_IB_HCA=mlx5_0:1";
    const Variables task{
        {"SLURM_DISTGPU_GIVEN", given}, {"MASTER_ADDR", "n1"}, {"NCCL_SOCKET_IFNAME", "=eth1"}};
    EXPECT_EQ(changed(task, task, mode("pytorch")),
              (Changes{{Since::given, "NCCL_IB_HCA", "mlx5_0:1", std::nullopt},
                       {Since::given, "NCCL_SOCKET_IFNAME", "=eth0", "=eth1"}}));
}

// Of a wrapper that became the program; from what the plugin recorded.
TEST(ChangedVariables, AreThoseThatThePluginRecorded) {
    Variables task{{"SLURM_JOB_ID", "5"},
                   {"SLURM_STEP_ID", "0"},
                   {"SLURM_DISTGPU_PREPARED", "5.0 pytorch"},
                   {"SLURM_DISTGPU_BOUND",
                    "v2 given.CUDA_VISIBLE_DEVICES=1 kept.NCCL_IB_HCA=mlx5_0 kept.UCX_NET_DEVICES"},
                   {"CUDA_VISIBLE_DEVICES", "0"},
                   {"ROCR_VISIBLE_DEVICES", "0"},
                   {"UCX_NET_DEVICES", "mlx5_1:1"}};
    EXPECT_EQ(changed(task, task, mode("pytorch")),
              (Changes{{Since::given, "CUDA_VISIBLE_DEVICES", "1", "0"},
                       {Since::start, "NCCL_IB_HCA", "mlx5_0", std::nullopt},
                       {Since::start, "ROCR_VISIBLE_DEVICES", std::nullopt, "0"}}));
    // Nothing of a record of version 1, or of an outer step's task.
    task["SLURM_DISTGPU_BOUND"] = "cpus=0-3";
    EXPECT_EQ(changed(task, task, mode("pytorch")), Changes{});
    task["SLURM_DISTGPU_BOUND"] = "v2 given.CUDA_VISIBLE_DEVICES=1";
    task["SLURM_STEP_ID"] = "1";
    EXPECT_EQ(changed(task, task, mode("pytorch")), Changes{});
}

RankGpus on(std::uint32_t rank, const std::vector<std::string>& addresses, std::size_t all = 4) {
    RankGpus gpus{.rank = rank, .step_gpus = all};
    for (const std::string& pci : addresses) {
        gpus.gpus.push_back({std::to_string(gpus.gpus.size()), pci});
    }
    return gpus;
}

// The current state of each rank, or "".
std::vector<std::string> crowded(const std::vector<RankGpus>& ranks) {
    std::vector<std::string> now;
    for (const auto& change : crowded_gpus(ranks)) now.push_back(change ? *change->now : "");
    return now;
}

TEST(CrowdedGpus, AreSharedMoreThanNecessary) {
    const std::string all = "shares GPU 0 with 2 other ranks";
    EXPECT_EQ(crowded({on(0, {"a"}), on(1, {"a"}), on(2, {"b"}), on(3, {"a"})}),
              (Sentences{all, all, "", all}));
    EXPECT_EQ(crowded({on(0, {"a", "b"}), on(1, {"b", "a"}), on(2, {"a", "b"})}),
              (Sentences(3, "shares GPUs 0,1 with 2 other ranks")));
    // Each has one of those that all see (gpus=near).
    EXPECT_EQ(crowded({on(0, {"a", "b"}, 2), on(1, {"b", "a"}, 2)}), Sentences(2));
    // More ranks than GPUs: two for each.
    EXPECT_EQ(crowded({on(0, {"a"}, 2), on(1, {"a"}, 2), on(2, {"b"}, 2)}), Sentences(3));
    EXPECT_EQ(crowded({on(0, {"a"}, 2), on(1, {"a"}, 2), on(2, {"a"}, 2)}),
              (Sentences(3, "shares GPU 0 with 2 other ranks")));
    // Which are the step's is unknown, or the ranks': with --gpus-per-task, each names its own "0".
    EXPECT_EQ(crowded({on(0, {""}), on(1, {""})}), Sentences(2));
    EXPECT_EQ(crowded({on(0, {"a"}, 0), on(1, {"a"}, 0)}), Sentences(2));
    EXPECT_EQ(crowded({on(0, {}), on(1, {})}), Sentences(2));
}

TEST(CrowdedGpus, AreMissedByARankThatSeesNone) {
    std::vector<RankGpus> ranks{on(0, {"a"}), on(1, {}), on(2, {}, 0)};
    for (RankGpus& rank : ranks) {
        if (rank.gpus.empty()) rank.hiding_value = "";
    }
    EXPECT_EQ(crowded(ranks),
              (Sentences{"", "sees no GPU, because CUDA_VISIBLE_DEVICES is empty", ""}));
}

TEST(ChangedVariables, AreRanksOtherThanPlanned) {
    TaskPlan plan;
    plan.node_rank = NodeRank{1};
    plan.set = {{"RANK", "3"}, {"WORLD_SIZE", "4"}};
    EXPECT_EQ(changed({}, {{"RANK", "2"}, {"WORLD_SIZE", "4"}}, mode("pytorch"), &plan).back(),
              (Change{Since::start, "WORLD_SIZE", std::nullopt, "4"}));
    const Variables both{{"RANK", "2"}, {"WORLD_SIZE", "4"}};
    EXPECT_EQ(changed(both, both, mode("pytorch"), &plan),
              (Changes{{Since::planned, "RANK", "3", "2"}}));
    // torchrun's ranks are its own, but not the order of the nodes.
    plan.set = {{"NODE_RANK", "1"}};
    const Variables task{{"NODE_RANK", "1"}};
    Variables rank{{"NODE_RANK", "1"}, {"RANK", "0"}, {"GROUP_RANK", "1"}};
    EXPECT_EQ(changed(task, rank, mode("torchrun"), &plan), Changes{});
    rank["GROUP_RANK"] = "0";
    EXPECT_EQ(changed(task, rank, mode("torchrun"), &plan),
              (Changes{{Since::planned, "GROUP_RANK", "1", "0"}}));
}

TEST(ChangedCpus, AreKnownOnBothSides) {
    EXPECT_EQ(changed_cpus(CpuSet{0, 1}, CpuSet{0}), (Changes{{Since::start, "CPUs", "0-1", "0"}}));
    EXPECT_EQ(changed_cpus(CpuSet{0}, CpuSet{0, 1}).size(), 1U);
    EXPECT_EQ(changed_cpus(CpuSet{0, 1}, CpuSet{0, 1}), Changes{});
    EXPECT_EQ(changed_cpus({}, CpuSet{0}), Changes{});
    EXPECT_EQ(changed_cpus(CpuSet{0}, {}), Changes{});
}

TEST(VariablesToldOf, AreThoseOfTraining) {
    for (const char* const name : {"RANK", "NCCL_ALGO", "TF_CONFIG", "OMP_NUM_THREADS", "UCX_TLS",
                                   "CUDA_VISIBLE_DEVICES", "TORCH_NCCL_ASYNC_ERROR_HANDLING"}) {
        EXPECT_TRUE(is_reported_variable(name)) << name;
    }
    for (const char* const name : {"PATH", "WANDB_API_KEY", "SLURM_JOB_NAME",
                                   "SLURM_DISTGPU_SECRET", "HOME", "RANKS", "SLURM_PROCID"}) {
        EXPECT_FALSE(is_reported_variable(name)) << name;
    }
    // Those of each rank, and those of all.
    for (const char* const name : {"RANK", "ROLE_RANK", "CUDA_VISIBLE_DEVICES", "PET_NODE_RANK"}) {
        EXPECT_FALSE(is_step_wide(name)) << name;
    }
    EXPECT_TRUE(is_step_wide("NCCL_ALGO"));
}

TEST(VariablesToldOf, AreShort) {
    const std::string config(30'000, 'x');
    const auto told = reported_variables(EnvironmentCopy({{"TF_CONFIG", config}, {"HOME", "/"}}));
    ASSERT_EQ(told.size(), 1U);
    EXPECT_LT(told[0].value.size(), 350U);
    EXPECT_NE(told[0].value.find("... (30000 bytes, "), std::string::npos);
    const auto other = reported_variables(EnvironmentCopy({{"TF_CONFIG", config.substr(1) + "y"}}));
    EXPECT_NE(told[0].value, other[0].value);
}

// The ranks of each group, and what is otherwise with them.
using Told = std::vector<std::pair<Numbers, Sentences>>;
Told told(const std::vector<NodeSample>& looks) {
    Told told;
    for (const ExplainedGroup& group : explain(looks, {}, 0).groups) {
        told.emplace_back(group.ranks, group.changes);
    }
    return told;
}

TEST(Explanation, TellsTheOddOnesFirstAndTheFewestFirst) {
    NodeSample one = made_up_facts("n1", 0);
    NodeSample other = made_up_facts("n2", 2);
    for (ProcessSample& rank : other.processes) {
        rank.facts->changes = {{Since::start, "NCCL_ALGO", std::nullopt, "Tree"}};
    }
    one.processes[1].facts->changes = {{Since::start, "CPUs", "4-7", "4"}};
    EXPECT_EQ(told({other, one}),
              (Told{{{1}, {"runs on CPU 4, and its task began on CPUs 4-7"}},
                    {{2, 3}, {"NCCL_ALGO is Tree, and was not set when the task began"}},
                    {{0}, {}}}));
}

// CPUs, as of threads that OMP_PROC_BIND binds, each to its own; numbers of ranks; and what a
// forged answer might say.
TEST(Explanation, TellsTogetherWhoChangedAlike) {
    NodeSample node = made_up_facts("n1", 0);
    const auto with = [&](const Change& one, const Change& other) {
        node.processes[0].facts->changes = {one};
        node.processes[1].facts->changes = {other};
        return told({node});
    };
    EXPECT_EQ(with({Since::start, "CPUs", "0-3", "0"}, {Since::start, "CPUs", "4-7", "4"}),
              (Told{{{0, 1}, {"each runs on 1 CPU, and its task began on 4 CPUs"}}}));
    EXPECT_EQ(with({Since::start, "CPUs", "0-3", "0"}, {Since::start, "CPUs", "4-7", "4-5"}).size(),
              2U);
    EXPECT_EQ(
        with({Since::start, "CPUs", "y", std::nullopt}, {Since::start, "CPUs", "x", std::nullopt}),
        (Told{{{0, 1}, {"each runs on 0 CPUs, and its task began on 0 CPUs"}}}));
    EXPECT_EQ(
        with({Since::planned, "LOCAL_RANK", "0", "1"}, {Since::planned, "LOCAL_RANK", "1", "0"}),
        (Told{{{0, 1}, {"LOCAL_RANK is not what distgpu plans; see each rank with --rank R"}}}));
}

TEST(Explanation, BlamesTheRanksThatSeeNoGpuNotTheOthers) {
    NodeSample node = made_up_facts("n1", 0);
    node.processes[1].gpus.clear();
    node.processes[1].facts->changes = {{Since::planned, "GPUs", "2", "sees no GPU"}};
    EXPECT_EQ(told({node}),
              (Told{{{1}, {"sees no GPU, but the step has 2 GPUs on the node"}}, {{0}, {}}}));
}

// A wrapper that became the program left no trace but this.
TEST(Explanation, ComparesTheRanks) {
    NodeSample one = made_up_facts("n1", 0);
    NodeSample other = made_up_facts("n2", 2);
    other.processes[0].facts->variables = {
        {"NCCL_ALGO", "Tree"}, {"NCCL_DEBUG", "INFO"}, {"RANK", "2"}};
    other.processes[1].gpus.pop_back();
    EXPECT_EQ(told({one, other}), (Told{{{2},
                                         {"NCCL_ALGO is Tree, but not set for other ranks",
                                          "NCCL_DEBUG is INFO, but WARN for other ranks"}},
                                        {{3}, {"GPUs that it may use: 1; other ranks: 2"}},
                                        {{0, 1}, {}}}));
    // Of two halves it is the value of rank 0 that counts, but rather none.
    for (ProcessSample& rank : other.processes) {
        rank = made_up_rank(*rank.rank);
        rank.facts->variables[0].value = "INFO";
    }
    for (ProcessSample& rank : one.processes) {
        rank.facts->variables.push_back({"NCCL_ALGO", "Tree"});
    }
    EXPECT_EQ(told({one, other}),
              (Told{{{0, 1}, {"NCCL_ALGO is Tree, but not set for other ranks"}},
                    {{2, 3}, {"NCCL_DEBUG is INFO, but WARN for other ranks"}}}));
}

TEST(Explanation, SaysAChangeOnceAndComparesNoHiddenRank) {
    NodeSample one = made_up_facts("n1", 0);
    one.processes[1].facts->variables[0].value = "INFO";
    one.processes[1].facts->changes = {{Since::start, "NCCL_DEBUG", "WARN", "INFO"}};
    EXPECT_EQ(told({one, made_up_facts("n2", 2)}).at(0),
              (Told::value_type{{1}, {"NCCL_DEBUG is INFO, and was WARN when the task began"}}));
    NodeSample node = made_up_facts("n1", 0);
    node.processes[1].facts->variables.clear();
    node.processes[1].gpus.clear();
    node.processes[1].facts->is_hidden = true;
    const auto explanation = explain({node}, {}, 0);
    EXPECT_EQ(explanation.groups.size(), 1U);
    ASSERT_EQ(explanation.notes.size(), 2U);
    EXPECT_EQ(explanation.notes[0],
              "rank 1: variables cannot be read, because the program forbids it "
              "(PR_SET_DUMPABLE)");
}

TEST(Explanation, NotesWhatWasNotSeen) {
    NodeSample plain = made_up_facts("n2", 2);
    plain.spec.clear();
    const NodeSample failed{.node = "n3", .problem = "distgpu: scontrol: not found"};
    const auto explanation = explain({made_up_facts("n1", 0), plain, failed}, {"n4"}, 0);
    EXPECT_EQ(explanation.silent, Sentences{"n4"});
    EXPECT_EQ(explanation.nodes, 4U);
    ASSERT_EQ(explanation.notes.size(), 3U);
    EXPECT_EQ(explanation.notes[0], "distgpu: scontrol: not found");
    EXPECT_EQ(explanation.notes[1], "distgpu did not prepare the tasks on n2");
    EXPECT_EQ(explain({failed}, {}, 0).notes.size(), 1U);
}

TEST(ChangeText, IsASentence) {
    EXPECT_EQ(to_text({Since::given, "NCCL_IB_HCA", "mlx5_0", std::nullopt}),
              "NCCL_IB_HCA is not set, but distgpu gave mlx5_0");
    EXPECT_EQ(to_text({Since::given, "CUDA_VISIBLE_DEVICES", "1", "0"}),
              "CUDA_VISIBLE_DEVICES is 0, but distgpu gave 1; usually a wrapper script around the "
              "program sets it");
    EXPECT_EQ(to_text({Since::planned, "GPUs", "4", "shares GPU 0 with 1 other rank"}),
              "shares GPU 0 with 1 other rank, but the step has 4 GPUs on the node");
    EXPECT_EQ(to_text({Since::planned, "GPUs", "1", "sees no GPU"}),
              "sees no GPU, but the step has 1 GPU on the node");
    EXPECT_EQ(to_text({Since::planned, "RANK", "1", "2"}), "RANK is 2, but distgpu plans 1");
    EXPECT_EQ(to_text({Since::planned, "PET_RDZV_ENDPOINT", std::nullopt, "x"}),
              "PET_RDZV_ENDPOINT is x, but distgpu plans not set");
    EXPECT_EQ(to_text({Since::start, "NCCL_ALGO", "Ring", ""}),
              "NCCL_ALGO is empty, and was Ring when the task began");
}

TEST(EndingSentences, SayHowRanksEndedIfThatIsKnown) {
    using State = MissingRank::State;
    const std::vector<MissingRank> missing{{1, State::ended, "n1", "ended with status 1"},
                                           {2, State::ended, "n2"},
                                           {3, State::ended, "n2"},
                                           {4, State::task_runs, "n2"},
                                           {5, State::node_is_empty, "n3"},
                                           {6, State::node_is_empty, "n3"},
                                           {7, State::unseen},
                                           {8, State::unseen}};
    const std::string killed = "was killed by signal 9 (SIGKILL)";
    const std::vector<Zombie> zombies{{"n1", 20, "python3", 1, "ended with status 1"},
                                      {"n2", 30, "python3", std::nullopt, killed}};
    EXPECT_EQ(ending_sentences(missing, zombies),
              (Sentences{"rank 1 on n1: it ended with status 1", "ranks 2-3 on n2 have ended",
                         "rank 4: no process on n2 has this RANK, but its task runs",
                         "ranks 5-6: no process of the step runs on n3",
                         "ranks 7-8: no process of them was seen",
                         "on n2 process 30 python3 was killed by signal 9 (SIGKILL)"}));
}

TEST(Explanation, HasTheRanksThatEnded) {
    NodeSample one = made_up_facts("n1", 0);
    NodeSample other = made_up_facts("n2", 2);
    one.tasks = {0, 1};
    other.tasks = {2, 3};
    EXPECT_TRUE(explain({one, other}, {}, 4).missing.empty());
    other.processes.pop_back();
    const Explanation explanation = explain({one, other}, {}, 4);
    EXPECT_THAT(explanation_text("5.0", explanation, false),
                HasSubstr("step 5.0: 3 of 4 ranks on 2 nodes, prepared by --distgpu=pytorch\n\n"
                          "rank 3 on n2 has ended\n"
                          "ranks 0-2 on n1, n2 are unchanged since they began\n"));
    const json read = json::parse(explanation_json({}, explanation, {}));
    EXPECT_EQ(read["missing"],
              json::parse(R"([{"rank": 3, "node": "n2", "ended": true, "how": null}])"));
    // Of a component, it is not known which ranks are missing.
    const Explanation component = explain({one, other}, {}, 4, true);
    EXPECT_TRUE(component.missing.empty());
    EXPECT_EQ(component.endings, Sentences{"1 task on n2 has ended"});
}

Explanation one_odd() {
    NodeSample one = made_up_facts("n1", 0);
    one.processes[1].facts->changes = {{Change::Since::start, "NCCL_ALGO", std::nullopt, "Tree"}};
    one.processes[1].facts->variables.push_back({"NCCL_ALGO", "Tree"});
    one.processes[1].facts->launchers = {"811 bash wrap.sh"};
    one.processes[1].facts->open_gpus = {"/dev/nvidia0"};
    return explain({one, made_up_facts("n2", 2)}, {"n3"}, 0);
}

TEST(ExplanationText, TellsTheOddOnesFirst) {
    EXPECT_EQ(explanation_text("5.0", one_odd(), false),
              R"(step 5.0: 4 ranks on 3 nodes, prepared by --distgpu=pytorch

rank 1 on n1:
  NCCL_ALGO is Tree, and was not set when the task began
ranks 0,2-3 on n1, n2 are unchanged since they began

  RANKS        NODES  LOCAL  CPUS     GPUS  HCAS
  rank 1       n1     1      4-7      0,1   -
  ranks 0,2-3  n1,n2  0 1    0-3 4-7  0,1   -

no answer from n3

Variables are those that each process started with: the kernel does not show what a program itself sets later (os.environ, setenv).
)");
}

TEST(ExplanationText, OfOtherSteps) {
    NodeSample node = made_up_facts("n1", 0);
    node.spec.clear();
    EXPECT_THAT(explanation_text("5.0", explain({node}, {}, 0), false),
                HasSubstr("step 5.0: 2 ranks on 1 node, which distgpu did not prepare\n"));
    EXPECT_EQ(explanation_text("5.0", explain({}, {"n1"}, 0), false),
              "step 5.0: 0 ranks on 1 node\n\nno rank was seen\n\nno answer from n1\n");
    node.processes.clear();
    for (std::uint32_t rank = 0; rank < 8; ++rank) {
        node.processes.push_back(made_up_rank(rank));
        node.processes.back().facts->cpus = std::to_string(rank);
    }
    EXPECT_THAT(explanation_text("5.0", explain({node}, {}, 0), false), HasSubstr("  8 kinds  "));
}

TEST(ExplanationText, SteersNoTerminal) {
    NodeSample node = made_up_facts("n1", 0);
    node.spec = "pytorch\x1b[2J";
    node.processes[0].facts->changes = {
        {Change::Since::start, "NCCL_X", std::nullopt, "\x1b]0;evil\a\n"}};
    node.processes[0].command = "python3 \x1b[31m";
    node.processes[0].facts->variables.push_back({"NCCL_X", "\x1b]0;evil\a\n"});
    const auto explanation = explain({node}, {}, 0);
    EXPECT_EQ(explanation_text("5.0", explanation, false).find('\x1b'), std::string::npos);
    EXPECT_EQ(rank_text(explanation, explanation.ranks[0], false).find('\x1b'), std::string::npos);
}

TEST(RankText, HasAllOfOneRank) {
    EXPECT_EQ(rank_text(one_odd(), one_odd().ranks[1], false),
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

Variables are those that each process started with: the kernel does not show what a program itself sets later (os.environ, setenv).
)");
}

TEST(RankText, SaysThatNoGpuIsVisible) {
    NodeSample node = made_up_facts("n1", 0);
    node.processes[0].gpus.clear();
    node.processes[0].facts->variables = {{"CUDA_VISIBLE_DEVICES", ""}};
    const Explanation explanation = explain({node}, {}, 0);
    EXPECT_THAT(rank_text(explanation, explanation.ranks[0], false),
                HasSubstr("  no GPU: CUDA_VISIBLE_DEVICES names none\n"));
    EXPECT_THAT(explanation_text("5.0", explanation, false), HasSubstr("  none  -\n"));
}

TEST(RankText, HasWhatIsNoLongerThere) {
    NodeSample node = made_up_facts("n1", 0);
    node.processes[0].facts->changes = {
        {Change::Since::given, "NCCL_IB_HCA", "mlx5_0", std::nullopt},
        {Change::Since::start, "CPUs", "0-7", "0-3"}};
    node.processes[0].facts->cpus_at_start = "0-7";
    const Explanation explanation = explain({node}, {}, 0);
    const std::string text = rank_text(explanation, explanation.ranks[0], false);
    EXPECT_THAT(text, HasSubstr("  CPUs 0-3; its task began on 0-7\n"));
    EXPECT_THAT(text, HasSubstr("  NCCL_IB_HCA  not set  distgpu gave: mlx5_0\n"));
}

TEST(ExplanationJson, HasWhatTheTextHas) {
    const json read = json::parse(
        explanation_json({"2026-01-01T00:00:00Z", "hpc", "alice", "5", "running", "5.0"}, one_odd(),
                         one_odd().ranks));
    EXPECT_EQ(read["schema"], "distgpu.explain/1");
    EXPECT_EQ(read["step"], "5.0");
    EXPECT_EQ(read["date"], "2026-01-01T00:00:00Z");
    EXPECT_EQ(read["cluster"], "hpc");
    EXPECT_EQ(read["user"], "alice");
    EXPECT_EQ(read["job"], "5");
    EXPECT_EQ(read["state"], "running");
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
}

}  // namespace
}  // namespace distgpu
