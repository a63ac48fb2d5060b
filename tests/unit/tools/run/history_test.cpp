#include "run/history.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

Training on(std::uint32_t nodes, std::uint32_t spares) {
    Training training{.words = {"srun", "train.py"}, .job_nodes = {}, .nodes = nodes};
    for (std::uint32_t i = 1; i <= nodes + spares; ++i) {
        training.job_nodes.push_back("n" + std::to_string(i));
    }
    return training;
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
    AttemptEnd lost = stuck;
    lost.lost_nodes = {"n2"};
    EXPECT_EQ(decide(on(3, 1), {stuck, lost}, {}).next, NextStep::restart);
    EXPECT_EQ(decide(on(3, 1), {lost, lost}, {}).next, NextStep::give_up);
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
    saved.who = "rank 1 on n1 failed first: it ended with status 1";
    EXPECT_EQ(decide(on(3, 0), {saved}, rules).why,
              "the time limit is near, and the training has ended: rank 1 on n1 failed first: it "
              "ended with status 1; requeue 4 of 10");
    EXPECT_EQ(decide(on(3, 0), {saved}, {.requeues = true, .requeued = 10}).next,
              NextStep::give_up);
    saved.status = 93;
    EXPECT_EQ(decide(on(3, 0), {saved}, rules).next, NextStep::give_up);
    saved = {.has_progressed = false, .was_notified = true};
    EXPECT_EQ(decide(on(3, 0), {saved}, rules).why,
              "the time limit is near, and the training has ended; no progress, so the job is not "
              "requeued");
}

TEST(Decide, LeavesOutWhereTwoAttemptsInARowFailedFirstIfASpareIsThere) {
    const AttemptEnd on_n2{.status = 1, .who = "rank 1 on n2 failed first", .where = {"n2"}};
    const AttemptEnd on_n1{.status = 1, .where = {"n1"}};
    const AttemptEnd on_both{.status = 1, .where = {"n1", "n2"}};
    using Nodes = std::vector<std::string>;
    EXPECT_EQ(decide(on(3, 1), {on_n2}, {}).left_out, Nodes());
    EXPECT_EQ(decide(on(3, 1), {on_n2, on_n2}, {}).left_out, Nodes{"n2"});
    EXPECT_EQ(decide(on(3, 1), {on_n2, on_n2}, {}).why,
              "rank 1 on n2 failed first; restart 2 of 3 without n2");
    EXPECT_EQ(decide(on(3, 1), {on_n2, on_n1}, {}).left_out, Nodes());
    EXPECT_EQ(decide(on(3, 1), {on_both, on_both}, {}).left_out, Nodes());
    EXPECT_EQ(decide(on(3, 0), {on_n2, on_n2}, {}).next, NextStep::restart);
    EXPECT_EQ(decide(on(3, 0), {on_n2, on_n2}, {}).left_out, Nodes());
    // From then on.
    EXPECT_EQ(decide(on(3, 1), {on_n2, on_n2, on_n1}, {}).left_out, Nodes{"n2"});
}

TEST(Decide, LeavesOutWhatTheCheckFoundUnfit) {
    const AttemptEnd unfit{.status = 1, .who = "check: n3 sends slowly", .unfit_nodes = {"n3"}};
    EXPECT_EQ(decide(on(3, 1), {unfit}, {}).why,
              "check: n3 sends slowly; restart 1 of 3 without n3");
    EXPECT_EQ(decide(on(3, 1), {unfit, {.status = 1}}, {}).left_out,
              (std::vector<std::string>{"n3"}));
    EXPECT_EQ(decide(on(3, 0), {unfit}, {}).next, NextStep::give_up);
}

TEST(Decide, WithTooFewNodesTheJobIsRequeuedIfThatIsAsked) {
    const AttemptEnd lost{.status = 1, .lost_nodes = {"n2"}};
    EXPECT_EQ(decide(on(3, 0), {lost}, {.requeues = true}).why,
              "lost n2; 2 nodes of the job are left, and an attempt needs 3; requeue 1 of 10");
    EXPECT_EQ(decide(on(3, 0), {lost}, {.requeues = true}).left_out,
              (std::vector<std::string>{"n2"}));
    AttemptEnd stuck = lost;
    stuck.has_progressed = false;
    EXPECT_EQ(decide(on(3, 0), {stuck}, {.requeues = true}).next, NextStep::give_up);
    EXPECT_EQ(decide(on(3, 0), {lost}, {.requeues = true, .requeued = 10}).next, NextStep::give_up);
}

TEST(Decide, NothingFollowsWhileSlurmEndsTheJob) {
    EXPECT_EQ(decide(on(3, 0), {{.status = 143, .is_job_ending = true}}, {}).why,
              "srun ended with status 143; Slurm is ending the job");
}

}  // namespace
}  // namespace distgpu
