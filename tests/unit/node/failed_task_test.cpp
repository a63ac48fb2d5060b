// Which task failed first, and when the step is ended because of it. Statuses are those of wait(2).
#include "node/failed_task.h"

#include <gtest/gtest.h>

#include <csignal>

namespace distgpu {
namespace {

using std::chrono::milliseconds;
constexpr Clock::time_point start{};
constexpr int status3 = 3 << 8;
constexpr int status1 = 1 << 8;
constexpr const char* ended =
    "; the others would wait for it, so the step is ended (fail=wait keeps it)";

using State = FailedTask::StepState;

FailedTask::Decision decided(FailedTask& failed, State state = State::running) {
    EXPECT_NE(failed.due(), Deadline::max());
    auto decision = failed.decide(state);
    EXPECT_EQ(failed.due(), Deadline::max());
    return decision;
}

TEST(EndedTask, SurvivesItsMessage) {
    const auto task = read_ended_task(message_of({SIGKILL, "rank 3 on n1", "out of memory"}));
    ASSERT_TRUE(task);
    EXPECT_EQ(task->status, SIGKILL);
    EXPECT_EQ(task->who, "rank 3 on n1");
    EXPECT_EQ(task->memory, "out of memory");
    for (const NodeMessage& message :
         {NodeMessage{"rows", {"9", "a", ""}}, NodeMessage{"ended", {"9", "a"}},
          NodeMessage{"ended", {"x", "a", ""}}, NodeMessage{"ended", {"70000", "a", ""}}}) {
        EXPECT_FALSE(read_ended_task(message));
    }
}

TEST(FailedTask, EndsTheStepAfterTwoSeconds) {
    FailedTask failed(true);
    EXPECT_EQ(failed.due(), Deadline::max());
    failed.add({status3, "rank 37 on n5"}, start);
    EXPECT_EQ(failed.due(), start + std::chrono::seconds(2));
    failed.add({status1, "rank 0 on n1"}, start + milliseconds(340));
    failed.add({status1, "rank 1 on n1"}, start + milliseconds(900));
    EXPECT_EQ(failed.due(), start + std::chrono::seconds(2));
    const auto decision = decided(failed);
    EXPECT_TRUE(decision.ends_step);
    EXPECT_EQ(decision.line,
              std::string("distgpu: rank 37 on n5 failed first: it ended with status 3, 0.3 s "
                          "before the next") +
                  ended);
    // Once.
    failed.add({status1, "rank 9 on n2"}, start + milliseconds(1000));
    EXPECT_EQ(failed.due(), Deadline::max());
}

TEST(FailedTask, IsTheFirstOfSeveralAtOnce) {
    FailedTask failed(true);
    failed.add({SIGKILL, "rank 1 on n1", "out of memory (1.0 of 1.0 GiB)"}, start);
    failed.add({SIGKILL, "rank 2 on n1"}, start + milliseconds(99));
    EXPECT_EQ(
        decided(failed).line,
        std::string("distgpu: rank 1 on n1 failed first: it was killed by signal 9 (SIGKILL), "
                    "out of memory (1.0 of 1.0 GiB), less than 0.1 s before the next") +
            ended);
}

// The failure is reported, and the step goes on.
TEST(FailedTask, DoesNotEndAStepThatEndsByItselfOrIsOver) {
    const std::string line = "distgpu: rank 1 on n1 failed first: it ended with status 3";
    FailedTask ending(true);
    ending.add({status3, "rank 1 on n1"}, start);
    EXPECT_EQ(decided(ending, State::ending).line, line);
    FailedTask over(true);
    over.add({status3, "rank 1 on n1"}, start);
    EXPECT_FALSE(decided(over, State::over).ends_step);
    FailedTask kept(false);
    kept.add({status3, "rank 1 on n1"}, start);
    const auto decision = decided(kept);
    EXPECT_FALSE(decision.ends_step);
    EXPECT_EQ(decision.line, line);
    for (const bool success_first : {true, false}) {
        FailedTask trained(true);
        if (success_first) trained.add({0, "rank 2 on n1"}, start);
        trained.add({status3, "rank 1 on n1"}, start);
        if (!success_first) trained.add({0, "rank 2 on n1"}, start);
        const auto told = decided(trained);
        EXPECT_FALSE(told.ends_step);
        EXPECT_EQ(told.line, line);
    }
}

TEST(FailedTask, IsNoneWhereSomebodyAskedForTheEnd) {
    for (const int status : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGQUIT,
                             (128 + SIGTERM) << 8, (128 + SIGINT) << 8}) {
        EXPECT_TRUE(was_asked_to_end(status)) << status;
        FailedTask failed(true);
        failed.add({status, "rank 1 on n1"}, start);
        failed.add({status3, "rank 2 on n1"}, start);
        EXPECT_EQ(failed.due(), Deadline::max()) << status;
    }
    for (const int status : {SIGKILL, SIGSEGV, SIGABRT, SIGXCPU, status1, (128 + SIGKILL) << 8}) {
        EXPECT_FALSE(was_asked_to_end(status)) << status;
    }
    // What the failure makes others do is no request.
    FailedTask failed(true);
    failed.add({status3, "rank 2 on n1"}, start);
    failed.add({SIGTERM, "rank 1 on n1"}, start + milliseconds(100));
    const auto decision = decided(failed);
    EXPECT_TRUE(decision.ends_step);
    EXPECT_EQ(decision.line,
              std::string("distgpu: rank 2 on n1 failed first: it ended with status 3") + ended);
}

TEST(FailedTask, IsNoneIfAllWereKilledAtOnce) {
    struct Row {
        int second_status;
        const char* memory;
        State state;
        bool is_silent;
    };
    for (const Row& row :
         {Row{SIGKILL, "", State::over, true}, Row{status3, "", State::over, false},
          Row{SIGKILL, "out of memory", State::over, false},
          Row{SIGKILL, "", State::running, false}}) {
        FailedTask failed(true);
        failed.add({SIGKILL, "rank 2 on n1"}, start);
        failed.add({row.second_status, "rank 1 on n1", row.memory}, start);
        EXPECT_EQ(decided(failed, row.state).line.empty(), row.is_silent);
    }
}

}  // namespace
}  // namespace distgpu
