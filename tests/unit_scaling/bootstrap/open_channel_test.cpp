#include "loopback_channels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace distgpu::scaling {
namespace {

using testing::ElementsAre;

TEST_F(Channels, AMissingRankIsNamedAtTheTimeout) {
    timeout = 300ms;
    auto zero = opening(0);
    auto one = opening(1);
    const auto termination = zero.get();
    ASSERT_FALSE(termination);
    EXPECT_EQ(termination.error().code, ExitCode::timed_out);
    EXPECT_EQ(termination.error().failure.problem, "only 2 of 3 ranks connected within 0.3 s");
    EXPECT_THAT(termination.error().failure.missing, ElementsAre("missing 2"));
    // The others wait for rank 0, which names it.
    EXPECT_EQ(one.get().error().failure.problem, "rank 0: closed by the other end");
}

TEST_F(Channels, ARankWithoutRank0TriesUntilTheTimeout) {
    timeout = 300ms;
    const Deadline begin = Clock::now();
    const auto termination = opening(1).get();
    EXPECT_GE(Clock::now() - begin, timeout / 2);
    ASSERT_FALSE(termination);
    EXPECT_EQ(termination.error().code, ExitCode::timed_out);
}

// More of them than are read at once. In an earlier version each one cost two seconds.
TEST_F(Channels, SilentStrangersKeepNoRankOut) {
    timeout = 5s;
    auto zero = opening(0);
    std::vector<Socket> strangers;
    for (int i = 0; i < 60; ++i) strangers.push_back(stranger());
    auto one = opening(1);
    auto two = opening(2);
    add_channels(zero, one, two);
}

TEST_F(Channels, ASilentStrangerIsDisconnected) {
    timeout = 5s;
    auto zero = opening(0);
    const Socket other = stranger();
    EXPECT_EQ(receive_line(other, 100, Clock::now() + 4s).error().problem,
              "closed by the other end");
    EXPECT_FALSE(zero.get());
}

// No other process can be rank 0, or a rank that is already connected.
TEST_F(Channels, ARankConnectsOnce) {
    auto zero = opening(0);
    const Socket two = silent_rank(2);
    for (const std::uint32_t taken : {0U, 2U}) {
        EXPECT_EQ(connect_as(taken).error().problem, "the connection broke");
    }
    auto one = opening(1);
    EXPECT_TRUE(zero.get());
    EXPECT_TRUE(one.get());
}

// A process that knows the job, its size and a rank, but not the step's secret.
TEST_F(Channels, AStrangerCannotBecomeARank) {
    secret = Secret(Secret::Bytes{1, 2, 3});
    auto zero = opening(0);
    const Secret another(Secret::Bytes{4});
    EXPECT_EQ(connect_as(1, {"nccl-scaling", "17.0", another}).error().problem,
              "the connection broke");
    EXPECT_EQ(connect_as(1).error().problem,
              "requires the step's secret, which this rank does not have");
    auto one = opening(1);
    auto two = opening(2);
    add_channels(zero, one, two);
    EXPECT_EQ(channels[0]->peers()[1].host, "node1");
}

// Even if it listens on rank 0's port.
TEST_F(Channels, AStrangerCannotBecomeRank0) {
    secret = Secret(Secret::Bytes{1, 2, 3});
    timeout = 500ms;
    const auto listener = listen_on(port);
    ASSERT_TRUE(listener);
    auto one = opening(1);
    HandshakeServer impostor({"nccl-scaling", "17.0", Secret(Secret::Bytes{4})});
    for (const Deadline end = Clock::now() + timeout; Clock::now() < end;) {
        impostor.accept_clients(*listener);
        EXPECT_TRUE(impostor.verified_clients().empty());
        std::this_thread::sleep_for(5ms);
    }
    EXPECT_FALSE(one.get());
}

TEST_F(Channels, UnprovenRanksGiveAWarning) {
    std::vector<std::string> warnings;
    Membership alone = membership(0);
    alone.world_size = 1;
    ChannelOptions of_rank_0 = options(0);
    of_rank_0.warn = [&](const Error& error) { warnings.push_back(error.message()); };
    ASSERT_TRUE(open_channel(alone, of_rank_0));
    EXPECT_THAT(warnings, testing::IsEmpty());  // there are no other ranks
    of_rank_0.timeout = 50ms;
    EXPECT_FALSE(open_channel(membership(0), of_rank_0));
    if (best_proof({}) == Proof::none) {
        EXPECT_THAT(warnings,
                    ElementsAre(testing::HasSubstr("cannot prove that they belong to this run")));
    }
    of_rank_0.secret = Secret(Secret::Bytes{1});
    warnings.clear();
    EXPECT_FALSE(open_channel(membership(0), of_rank_0));
    EXPECT_THAT(warnings, testing::IsEmpty());
}

TEST_F(Channels, StrangersAreDisconnected) {
    auto zero = opening(0);
    const Socket other = stranger();
    ASSERT_TRUE(send_all(other, "GET / HTTP/1.1\n", Clock::now() + 5s));
    EXPECT_EQ(receive_line(other, 100, Clock::now() + 5s).error().problem,
              "closed by the other end");
    auto one = opening(1);
    auto two = opening(2);
    add_channels(zero, one, two);
    EXPECT_EQ(channels[0]->peers().size(), world);
    on_all([](std::uint32_t /*rank*/, Channel& channel) { channel.finish(); });
}

TEST_F(Channels, AnotherProgramIsNotRank0) {
    timeout = 300ms;
    for (const char* line : {"\n", "d\n", "HTTP/1.1 400 Bad Request\n"}) {
        const auto other = listen_on(port);
        ASSERT_TRUE(other);
        auto one = opening(1);
        auto connection = accept_from(*other);
        while (!connection) connection = accept_from(*other);
        ASSERT_TRUE(send_all(*connection, line, Clock::now() + 5s));
        const auto termination = one.get();
        ASSERT_FALSE(termination);
        EXPECT_EQ(termination.error().failure.problem,
                  "127.0.0.1:" + std::to_string(port) + ": another program answers there");
    }
}

TEST_F(Channels, ATakenPortIsNamed) {
    const auto taken = listen_on(port);
    ASSERT_TRUE(taken);
    const auto termination = open_channel(membership(0), options(0));
    ASSERT_FALSE(termination);
    EXPECT_EQ(termination.error().code, ExitCode::environment);
    EXPECT_EQ(termination.error().failure.problem,
              "port " + std::to_string(port) + ": Address already in use");
}

}  // namespace
}  // namespace distgpu::scaling
