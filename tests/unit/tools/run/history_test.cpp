#include "run/history.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

Training on(std::uint32_t nodes, std::uint32_t spares) {
    return {.words = {"srun", "train.py"}, .job_nodes = nodes + spares, .nodes = nodes};
}

TEST(Decide, AFailedTrainingIsRestartedAsOftenAsAllowed) {
    const AttemptEnd failed{.status = 143, .who = "rank 3 on n2 failed first: status 1"};
    std::vector<AttemptEnd> attempts{failed};
    EXPECT_EQ(decide(on(3, 0), attempts, {.restarts = 2}).next, NextStep::restart);
    EXPECT_EQ(decide(on(3, 0), attempts, {.restarts = 2}).why,
              "rank 3 on n2 failed first: status 1; restart 1 of 2");
    attempts.push_back(failed);
    EXPECT_EQ(decide(on(3, 0), attempts, {.restarts = 2}).next, NextStep::restart);
    attempts.push_back(failed);
    EXPECT_EQ(decide(on(3, 0), attempts, {.restarts = 2}).next, NextStep::give_up);
    EXPECT_EQ(decide(on(3, 0), attempts, {.restarts = 2}).why,
              "rank 3 on n2 failed first: status 1; no restart is left");
    attempts.back().status = 0;
    EXPECT_EQ(decide(on(3, 0), attempts, {.restarts = 2}).next, NextStep::done);
}

TEST(Decide, WithoutTheLostNodesIfEnoughAreLeft) {
    const AttemptEnd lost{.status = 1, .lost_nodes = {"n2"}};
    EXPECT_EQ(decide(on(3, 1), {lost}, {}).next, NextStep::restart);
    EXPECT_EQ(decide(on(3, 1), {lost}, {}).why, "lost n2; restart 1 of 3 without n2");
    EXPECT_EQ(decide(on(3, 0), {lost}, {}).next, NextStep::give_up);
    EXPECT_EQ(decide(on(3, 0), {lost}, {}).why,
              "lost n2; 2 nodes of the job are left, and an attempt needs 3");
}

TEST(Decide, NotWhereItWouldNotHelp) {
    EXPECT_EQ(decide(on(3, 0), {{.status = 93}}, {}).why,
              "srun ended with status 93; status 93 asks for no restart");
    EXPECT_EQ(decide(on(3, 0), {{.status = 143, .was_asked_to_end = true}}, {}).why,
              "srun ended with status 143; a signal asked for the end");
    const AttemptEnd stuck{.status = 1, .has_progressed = false};
    EXPECT_EQ(decide(on(3, 0), {stuck}, {}).next, NextStep::restart);
    EXPECT_EQ(decide(on(3, 0), {stuck, stuck}, {}).next, NextStep::give_up);
    EXPECT_EQ(decide(on(3, 0), {stuck, {.status = 1}, stuck}, {}).next, NextStep::restart);
}

TEST(Decide, ALostNodeExplainsOnlyTheAttemptThatLostIt) {
    const AttemptEnd lost{.status = 1, .lost_nodes = {"n2"}};
    AttemptEnd failed = lost;
    failed.who = "rank 0 on n1 failed first: it ended with status 1";
    EXPECT_EQ(decide(on(3, 1), {lost, failed}, {}).why,
              "rank 0 on n1 failed first: it ended with status 1; restart 2 of 3 without n2");
}

TEST(Decide, AtTheTimeLimitTheJobIsRequeuedWhateverTheStatus) {
    AttemptEnd saved{.was_notified = true};
    const Rules rules{.requeues = true, .requeued = 3};
    EXPECT_EQ(decide(on(3, 0), {saved}, {}).next, NextStep::done);
    EXPECT_EQ(decide(on(3, 0), {saved}, rules).next, NextStep::requeue);
    EXPECT_EQ(decide(on(3, 0), {saved}, rules).why,
              "the time limit is near, and the training has ended; requeue 4 of 10");
    saved.status = 1;
    EXPECT_EQ(decide(on(3, 0), {saved}, rules).next, NextStep::requeue);
    EXPECT_EQ(decide(on(3, 0), {saved}, {}).why,
              "srun ended with status 1; the time limit is near");
    EXPECT_EQ(decide(on(3, 0), {saved}, {.requeues = true, .requeued = 10}).next,
              NextStep::give_up);
    saved.status = 93;
    EXPECT_EQ(decide(on(3, 0), {saved}, rules).next, NextStep::give_up);
    saved = {.has_progressed = false, .was_notified = true};
    EXPECT_EQ(decide(on(3, 0), {saved}, rules).why,
              "the time limit is near, and the training has ended; no progress, so the job is not "
              "requeued");
}

TEST(LostNodes, AreDownFailedOrNotResponding) {
    // As scontrol of 22.05 to 26.05 prints them.
    EXPECT_EQ(lost_nodes("NodeName=n1 Arch=x86_64 State=ALLOCATED ThreadsPerCore=1\n"
                         "NodeName=n2 State=DOWN*+NOT_RESPONDING Reason=Not responding\n"
                         "NodeName=n3 State=ALLOCATED*\nNodeName=n4 State=MIXED+DRAIN\n"
                         "NodeName=n5 State=DOWN\nNodeName=n6 State=FAILING\n"),
              (std::vector<std::string>{"n2", "n3", "n5", "n6"}));
    EXPECT_TRUE(lost_nodes("").empty());
}

}  // namespace
}  // namespace distgpu
