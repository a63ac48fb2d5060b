// Which ranks have ended, and which are only not seen.
#include "inspect/ended.h"

#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

namespace distgpu {
namespace {

using State = MissingRank::State;
using Missing = std::vector<MissingRank>;
using Tasks = std::vector<std::uint32_t>;

ProcessSample process_of(std::uint32_t task, std::optional<std::uint32_t> rank = std::nullopt) {
    return {.pid = static_cast<pid_t>(100 + task),
            .name = "python3",
            .task = task,
            .rank = rank,
            .moments = {{.state = 'S'}}};
}

// A node with these tasks, of which `running` have a process with their own number as the rank.
NodeSample node(const char* name, const Tasks& tasks, const Tasks& running) {
    NodeSample sample{.node = name, .times = {0}, .tasks = tasks};
    for (const std::uint32_t task : running) sample.processes.push_back(process_of(task, task));
    return sample;
}

ProcessSample zombie(std::uint32_t task, int wait_status) {
    ProcessSample process = process_of(task);
    process.moments = {{.state = 'Z'}};
    process.exit_code = wait_status;
    return process;
}

Missing missing(const std::vector<NodeSample>& samples, std::uint32_t tasks,
                bool are_complete = true) {
    return describe_missing(samples, find_ranks(samples, tasks), tasks, are_complete);
}

TEST(EndedTasks, AreThoseWithoutARunningProcess) {
    EXPECT_EQ(ended_task_count(node("n1", {0, 1, 2}, {1})), 2U);
    EXPECT_EQ(ended_task_count(node("n1", {0, 1}, {0, 1})), 0U);
    // Which tasks were started is not known.
    EXPECT_EQ(ended_task_count(node("n1", {}, {1})), 0U);
    NodeSample dead = node("n1", {0, 1}, {0});
    dead.processes.push_back(zombie(1, 0));
    EXPECT_EQ(ended_task_count(dead), 1U);
}

TEST(MissingRanks, HaveEndedIfTheirTasksHave) {
    NodeSample other = node("n2", {2, 3}, {2});
    EXPECT_EQ(missing({node("n1", {0, 1}, {0, 1}), other}, 4), (Missing{{3, State::ended, "n2"}}));
    other.processes.push_back(zombie(3, SIGKILL));
    EXPECT_EQ(missing({node("n1", {0, 1}, {0, 1}), other}, 4),
              (Missing{{3, State::ended, "n2", "was killed by signal 9 (SIGKILL)"}}));
    EXPECT_EQ(missing({node("n1", {0, 1}, {0, 1}), node("n2", {2, 3}, {2, 3})}, 4), Missing{});
}

// Its variables cannot be read, or a wrapper removed RANK.
TEST(MissingRanks, MayHaveATaskThatRuns) {
    NodeSample one = node("n1", {0, 1}, {0});
    one.processes.push_back(process_of(1));
    EXPECT_EQ(missing({one}, 2), (Missing{{1, State::task_runs, "n1"}}));
}

// All of its tasks have ended, or an image is still unpacked there.
TEST(MissingRanks, MayBelongToANodeWithoutAProcess) {
    const NodeSample one = node("n1", {0}, {0});
    EXPECT_EQ(missing({one, node("n2", {}, {})}, 2), (Missing{{1, State::node_is_empty, "n2"}}));
    EXPECT_EQ(missing({one, node("n2", {}, {}), node("n3", {}, {})}, 3),
              (Missing{{1, State::node_is_empty}, {2, State::node_is_empty}}));
    // A node did not answer, or not about its processes.
    EXPECT_EQ(missing({one, node("n2", {}, {})}, 3, false),
              (Missing{{1, State::unseen}, {2, State::unseen}}));
    NodeSample failed = node("n2", {}, {});
    failed.problem = "distgpu: scontrol: not found";
    EXPECT_EQ(missing({one, failed}, 2), (Missing{{1, State::unseen}}));
}

// torchrun's ranks are not Slurm's tasks: that task 1 has ended says nothing about rank 1.
TEST(MissingRanks, OfALauncherAreNotTasks) {
    NodeSample one = node("n1", {0, 1}, {0});
    one.processes[0].world_size = 4;
    EXPECT_EQ(missing({one}, 2),
              (Missing{{1, State::unseen}, {2, State::unseen}, {3, State::unseen}}));
    // With order=, each task has another rank.
    NodeSample ordered{.node = "n1", .times = {0}, .tasks = {0, 1}};
    ordered.processes = {process_of(0, 1)};
    EXPECT_EQ(missing({ordered}, 2), (Missing{{0, State::unseen}}));
}

TEST(Zombies, AreFew) {
    NodeSample sample = node("n1", {0}, {0});
    for (int i = 0; i < 100; ++i) sample.processes.push_back(zombie(0, 1 << 8));
    const std::vector<NodeSample> samples{sample};
    const auto zombies = find_zombies(samples);
    EXPECT_EQ(zombies.size(), 64U);
    EXPECT_EQ(zombies[0], (Zombie{"n1", 100, "python3", 0U, "ended with status 1"}));
}

}  // namespace
}  // namespace distgpu
