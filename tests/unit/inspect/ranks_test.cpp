// Which processes are the ranks.
#include "inspect/ranks.h"

#include "tools/why/made_up_looks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace distgpu {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

struct Made {
    pid_t pid;
    pid_t parent;
    std::string name;
    std::optional<std::uint32_t> rank{};
    std::optional<std::uint32_t> task{};
    bool is_python = true;
    std::string states = "SS";
};

NodeSample look_at(const std::string& node, const std::vector<Made>& processes) {
    NodeSample look{.node = node, .times = {0, 3}};
    for (const Made& made : processes) {
        ProcessSample& process = add_process(look, made.pid, {.states = made.states});
        process.parent = made.parent;
        process.name = made.name;
        process.rank = made.rank;
        process.task = made.task;
        process.is_python = made.is_python;
    }
    return look;
}

std::vector<pid_t> pids(const std::vector<const ProcessSample*>& processes) {
    std::vector<pid_t> pids;
    pids.reserve(processes.size());
    for (const ProcessSample* process : processes) pids.push_back(process->pid);
    return pids;
}

// The rank and its process.
std::vector<std::pair<std::uint32_t, pid_t>> seen(const Ranks& ranks) {
    std::vector<std::pair<std::uint32_t, pid_t>> seen;
    for (const RankSample& rank : ranks.seen) seen.emplace_back(rank.rank, rank.process->pid);
    return seen;
}

TEST(FindRanks, AreTheEldestPythonOfEachTask) {
    const std::vector<NodeSample> looks{
        look_at("n2", {{30, 1, "python3", 1, 1}, {31, 30, "python3", 1, 1}}),
        look_at("n1", {{20, 1, "bash", 0, 0, false},
                       {21, 20, "nvidia-smi", 0, 0, false},
                       {22, 20, "python3", 0, 0},
                       {23, 22, "python3", 0, 0}})};
    const Ranks ranks = find_ranks(looks, 2);
    EXPECT_THAT(seen(ranks), ElementsAre(Pair(0, 22), Pair(1, 30)));
    EXPECT_EQ(ranks.seen[0].node, &looks[1]);
    EXPECT_THAT(pids(ranks.seen[0].workers), ElementsAre(23));
    EXPECT_THAT(ranks.missing, IsEmpty());
    EXPECT_EQ(ranks.expected, 2U);
}

// A pid may have been used again.
TEST(FindRanks, GoByTheTimeOfTheBegin) {
    std::vector<NodeSample> looks{look_at("n1", {{20, 21, "python3", 0}, {21, 1, "python3", 0}})};
    looks[0].processes[0].begin = 500;
    looks[0].processes[1].begin = 400;
    EXPECT_THAT(seen(find_ranks(looks, 1)), ElementsAre(Pair(0, 21)));
    looks[0].processes[0].begin = 400;
    EXPECT_THAT(seen(find_ranks(looks, 1)), ElementsAre(Pair(0, 20)));
}

TEST(FindRanks, AreNoShellsNorLaunchers) {
    for (const std::string launcher :
         {"bash", "sh", "env", "numactl", "mpirun", "slurm_script", "distgpu"}) {
        const std::vector<NodeSample> looks{
            look_at("n1", {{20, 1, launcher, {}, 0, false}, {21, 20, "trainer", {}, 0, false}})};
        EXPECT_THAT(seen(find_ranks(looks, 1)), ElementsAre(Pair(0, 21))) << launcher;
    }
    const std::vector<NodeSample> alone{look_at("n1", {{20, 1, "bash", {}, 0, false}})};
    EXPECT_THAT(seen(find_ranks(alone, 1)), ElementsAre(Pair(0, 20)));
}

// A DataLoader's, and what they start; not those of another rank nor machine code.
TEST(FindRanks, HaveWorkersBelow) {
    const std::vector<NodeSample> looks{look_at("n1", {{20, 1, "python3", 0},
                                                       {21, 20, "pt_data_worker", 0},
                                                       {22, 21, "python3", 0},
                                                       {23, 20, "tensorboard", 0, {}, false},
                                                       {24, 1, "python3", 0},
                                                       {25, 20, "python3", 1}})};
    const Ranks ranks = find_ranks(looks, 2);
    EXPECT_THAT(seen(ranks), ElementsAre(Pair(0, 20), Pair(1, 25)));
    EXPECT_THAT(pids(ranks.seen[0].workers), ElementsAre(21, 22));
    EXPECT_THAT(pids(ranks.seen[1].workers), IsEmpty());
    // Each other's parent: pids that were read at different times.
    const std::vector<NodeSample> round{look_at("n1", {{20, 1, "python3", 0},
                                                       {21, 22, "python3", 0},
                                                       {22, 21, "python3", 0},
                                                       {23, 23, "python3", 0}})};
    EXPECT_THAT(pids(find_ranks(round, 1).seen[0].workers), IsEmpty());
}

// The launcher, a task of Slurm's, has no RANK.
TEST(FindRanks, OfTorchrunAreItsChildren) {
    std::vector<NodeSample> looks;
    for (std::uint32_t node = 0; node < 2; ++node) {
        looks.push_back(
            look_at("n" + std::to_string(node), {{20, 1, "torchrun", {}, node},
                                                 {21, 20, "python3", 2 * node, node},
                                                 {22, 20, "python3", 2 * node + 1, node}}));
        for (ProcessSample& process : looks.back().processes) {
            if (process.rank) process.world_size = 4;
        }
    }
    const Ranks ranks = find_ranks(looks, 2);
    EXPECT_THAT(seen(ranks), ElementsAre(Pair(0, 21), Pair(1, 22), Pair(2, 21), Pair(3, 22)));
    EXPECT_EQ(ranks.expected, 4U);
    EXPECT_THAT(ranks.missing, IsEmpty());
    looks[1].processes.resize(1);
    EXPECT_THAT(find_ranks(looks, 2).missing, ElementsAre(2, 3));
}

TEST(FindRanks, WithoutRankAreSlurms) {
    const std::vector<NodeSample> looks{
        look_at("n1", {{20, 1, "a.out", {}, 0, false}, {21, 1, "a.out", {}, 2, false}})};
    const Ranks ranks = find_ranks(looks, 4);
    EXPECT_THAT(seen(ranks), ElementsAre(Pair(0, 20), Pair(2, 21)));
    EXPECT_THAT(ranks.missing, ElementsAre(1, 3));
}

TEST(FindRanks, ThatEndedAreMissing) {
    const std::vector<NodeSample> looks{look_at("n1", {{20, 1, "python3", 0, 0, true, "SZ"},
                                                       {21, 1, "python3", 1, 1, true, "RX"},
                                                       {22, 1, "python3", 2, 2, true, "XS"}})};
    const Ranks ranks = find_ranks(looks, 3);
    EXPECT_THAT(seen(ranks), ElementsAre(Pair(2, 22)));
    EXPECT_THAT(ranks.missing, ElementsAre(0, 1));
    // Two trainings in one step.
    const std::vector<NodeSample> two{look_at("n1", {{20, 1, "python3", 0}}),
                                      look_at("n2", {{30, 1, "python3", 0}})};
    EXPECT_THAT(find_ranks(two, 2).seen, SizeIs(2));
    EXPECT_THAT(find_ranks(two, 2).missing, ElementsAre(1));
}

// One of four ranks that has given itself a title.
TEST(FindRanks, WithoutVariablesAreTheRanksThatNoOtherHas) {
    std::vector<NodeSample> looks{
        look_at("n1", {{20, 1, "python3", 0, 0}, {21, 1, "python3", 1, 1}}),
        look_at("n2", {{20, 1, "python3", {}, 2}, {21, 1, "python3", 3, 3}, {22, 20, "worker"}})};
    for (NodeSample& look : looks) {
        for (ProcessSample& process : look.processes) {
            process.is_task = true;
            if (process.rank) process.world_size = 4;
        }
    }
    looks[1].processes[0].is_hidden = true;
    looks[1].processes[2].is_hidden = true;  // as its parent
    const Ranks ranks = find_ranks(looks, 4);
    EXPECT_THAT(seen(ranks), ElementsAre(Pair(0, 20), Pair(1, 21), Pair(2, 20), Pair(3, 21)));
    EXPECT_EQ(ranks.seen[2].node, &looks[1]);
    EXPECT_THAT(pids(ranks.seen[2].workers), ElementsAre(22));
    EXPECT_THAT(ranks.missing, IsEmpty());
    EXPECT_EQ(ranks.expected, 4U);
    // Where two ranks are missing, the task tells which one it is.
    looks[0].processes[1].moments.back().state = 'Z';
    EXPECT_THAT(seen(find_ranks(looks, 4)), ElementsAre(Pair(0, 20), Pair(2, 20), Pair(3, 21)));
    EXPECT_THAT(find_ranks(looks, 4).missing, ElementsAre(1));
    // A process that is not Python, as a shell whose variables nobody may read, is none.
    looks[1].processes[0].is_python = looks[1].processes[2].is_python = false;
    EXPECT_THAT(find_ranks(looks, 4).missing, ElementsAre(1, 2));
}

// torchrun on each node, whose workers have all given themselves titles.
TEST(FindRanks, OfTorchrunWithoutVariablesAreInTheOrderOfTheirBegin) {
    std::vector<NodeSample> looks;
    for (const std::uint32_t node : {1U, 0U}) {
        looks.push_back(look_at("n" + std::to_string(node), {{20, 1, "torchrun", {}, node},
                                                             {32, 20, "trainer", {}, node},
                                                             {31, 20, "trainer", {}, node},
                                                             {33, 31, "loader", {}, node}}));
        looks.back().processes[0].is_task = true;
        for (std::size_t i = 1; i < 4; ++i) looks.back().processes[i].is_hidden = true;
    }
    const Ranks ranks = find_ranks(looks, 2);
    EXPECT_THAT(seen(ranks), ElementsAre(Pair(0, 31), Pair(1, 32), Pair(2, 31), Pair(3, 32)));
    EXPECT_EQ(ranks.seen[0].node, &looks[1]);
    EXPECT_THAT(pids(ranks.seen[0].workers), ElementsAre(33));
    EXPECT_EQ(ranks.expected, 4U);
    EXPECT_THAT(ranks.missing, IsEmpty());
}

// A helper of one task that has given itself a title makes no launcher of the tasks.
TEST(FindRanks, AreNotTheHiddenHelperOfATask) {
    std::vector<NodeSample> looks{look_at(
        "n1", {{20, 1, "python3", {}, 0}, {21, 1, "python3", {}, 1}, {22, 21, "helper", {}, 1}})};
    looks[0].processes[0].is_task = looks[0].processes[1].is_task = true;
    looks[0].processes[2].is_hidden = true;
    EXPECT_THAT(seen(find_ranks(looks, 2)), ElementsAre(Pair(0, 20), Pair(1, 21)));
}

// The tasks' own processes forbid to read their variables, as with PR_SET_DUMPABLE.
TEST(FindRanks, OfTasksWithoutVariablesAreSlurms) {
    std::vector<NodeSample> looks{look_at(
        "n1", {{20, 1, "python3", {}, 0}, {21, 1, "python3", {}, 1}, {22, 1, "python3", {}, 2}})};
    for (ProcessSample& process : looks[0].processes) process.is_task = process.is_hidden = true;
    EXPECT_THAT(seen(find_ranks(looks, 3)), ElementsAre(Pair(0, 20), Pair(1, 21), Pair(2, 22)));
}

// Four tasks, each of which began a training of one.
TEST(FindRanks, ThatSeveralTasksHaveAreTheTasks) {
    std::vector<NodeSample> looks{
        look_at("n1", {{20, 1, "python3", 0, 0}, {21, 1, "python3", 0, 1}}),
        look_at("n2", {{20, 1, "python3", 0, 2}, {21, 1, "python3", 0, 3}})};
    for (NodeSample& look : looks) {
        for (ProcessSample& process : look.processes) process.world_size = 1;
    }
    const Ranks ranks = find_ranks(looks, 4);
    EXPECT_THAT(seen(ranks), ElementsAre(Pair(0, 20), Pair(1, 21), Pair(2, 20), Pair(3, 21)));
    EXPECT_THAT(ranks.missing, IsEmpty());
    EXPECT_EQ(ranks.expected, 4U);
    ASSERT_THAT(ranks.shared, SizeIs(1));
    EXPECT_EQ(ranks.shared[0].rank, 0U);
    EXPECT_THAT(ranks.shared[0].tasks, ElementsAre(0, 1, 2, 3));
    // Workers of one task have its RANK, and one that ended shares it with nobody.
    looks[0].processes[1].task = 0;
    looks[1].processes.resize(1);
    looks[1].processes[0].moments.back().state = 'X';
    EXPECT_THAT(find_ranks(looks, 4).shared, IsEmpty());
}

// What a user's variables say decides no loop.
TEST(FindRanks, CountNoFurtherThanItMakesSense) {
    EXPECT_THAT(find_ranks({}, 0).missing, IsEmpty());
    EXPECT_THAT(find_ranks({}, 2).missing, ElementsAre(0, 1));
    std::vector<NodeSample> looks{look_at("n1", {{20, 1, "python3", 4'294'967'295U}})};
    looks[0].processes[0].world_size = 4'294'967'295U;
    const Ranks ranks = find_ranks(looks, 1);
    EXPECT_THAT(seen(ranks), ElementsAre(Pair(4'294'967'295U, 20)));
    EXPECT_EQ(ranks.expected, 4'294'967'295U);
    EXPECT_THAT(ranks.missing, SizeIs(65'536));
}

}  // namespace
}  // namespace distgpu
