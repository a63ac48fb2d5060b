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
    EXPECT_EQ(decide(on(3, 0), attempts, 2).next, NextStep::restart);
    EXPECT_EQ(decide(on(3, 0), attempts, 2).why,
              "rank 3 on n2 failed first: status 1; restart 1 of 2");
    attempts.push_back(failed);
    EXPECT_EQ(decide(on(3, 0), attempts, 2).next, NextStep::restart);
    attempts.push_back(failed);
    EXPECT_EQ(decide(on(3, 0), attempts, 2).next, NextStep::give_up);
    EXPECT_EQ(decide(on(3, 0), attempts, 2).why,
              "rank 3 on n2 failed first: status 1; no restart is left");
    attempts.back().status = 0;
    EXPECT_EQ(decide(on(3, 0), attempts, 2).next, NextStep::done);
}

TEST(Decide, WithoutTheLostNodesIfEnoughAreLeft) {
    const AttemptEnd lost{.status = 1, .lost_nodes = {"n2"}};
    EXPECT_EQ(decide(on(3, 1), {lost}, 3).next, NextStep::restart);
    EXPECT_EQ(decide(on(3, 1), {lost}, 3).why, "lost n2; restart 1 of 3 without n2");
    EXPECT_EQ(decide(on(3, 0), {lost}, 3).next, NextStep::give_up);
    EXPECT_EQ(decide(on(3, 0), {lost}, 3).why,
              "lost n2; 2 nodes of the job are left, and an attempt needs 3");
}

TEST(Decide, NotWhereItWouldNotHelp) {
    EXPECT_EQ(decide(on(3, 0), {{.status = 93}}, 3).why,
              "srun ended with status 93; status 93 asks for no restart");
    EXPECT_EQ(decide(on(3, 0), {{.status = 143, .was_asked_to_end = true}}, 3).why,
              "srun ended with status 143; a signal asked for the end");
    const AttemptEnd stuck{.status = 1, .has_progressed = false};
    EXPECT_EQ(decide(on(3, 0), {stuck}, 3).next, NextStep::restart);
    EXPECT_EQ(decide(on(3, 0), {stuck, stuck}, 3).next, NextStep::give_up);
    EXPECT_EQ(decide(on(3, 0), {stuck, {.status = 1}, stuck}, 3).next, NextStep::restart);
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
