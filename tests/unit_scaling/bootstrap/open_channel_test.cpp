#include "made_up_channels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace distgpu::scaling {
namespace {

using testing::ElementsAre;

TEST_F(Channels, AMissingRankIsNamedAtTheTimeout) {
    timeout = 300ms;
    auto zero = opening(0);
    auto one = opening(1);
    const auto ending = zero.get();
    ASSERT_FALSE(ending);
    EXPECT_EQ(ending.error().code, ExitCode::timed_out);
    EXPECT_EQ(ending.error().failure.problem, "only 2 of 3 ranks connected within 0.3 s");
    EXPECT_THAT(ending.error().failure.missing, ElementsAre("missing 2"));
    // The others leave the naming to rank 0, and wait for it.
    EXPECT_EQ(one.get().error().failure.problem, "rank 0: closed by the other end");
}

TEST_F(Channels, ARankThatFindsNobodyTriesUntilTheTimeout) {
    timeout = 300ms;
    const Deadline begin = Clock::now();
    const auto ending = opening(1).get();
    EXPECT_GE(Clock::now() - begin, timeout / 2);
    ASSERT_FALSE(ending);
    EXPECT_EQ(ending.error().code, ExitCode::timed_out);
}

// More of them than are heard at once, any one of which would once have cost two seconds.
TEST_F(Channels, StrangersThatSayNothingKeepNobodyOut) {
    timeout = 5s;
    auto zero = opening(0);
    std::vector<Socket> strangers;
    for (int i = 0; i < 60; ++i) strangers.push_back(stranger());
    auto one = opening(1);
    auto two = opening(2);
    take(zero, one, two);
}

TEST_F(Channels, AStrangerThatSaysNothingIsSentAway) {
    timeout = 5s;
    auto zero = opening(0);
    const Socket other = stranger();
    EXPECT_EQ(receive_line(other, 100, Clock::now() + 4s).error().problem,
              "closed by the other end");
    EXPECT_FALSE(zero.get());
}

// Nobody takes the place of rank 0, or of a rank that is there.
TEST_F(Channels, APlaceIsGivenOnce) {
    auto zero = opening(0);
    const Socket two = mute_rank(2);
    for (const std::uint32_t taken : {0U, 2U}) {
        EXPECT_EQ(introduced(taken).error().problem, "the connection broke");
    }
    auto one = opening(1);
    EXPECT_TRUE(zero.get());
    EXPECT_TRUE(one.get());
}

// Who knows the job, its size and a rank, but not the secret of the step.
TEST_F(Channels, AStrangerIsNeverARank) {
    secret = Secret(Secret::Bytes{1, 2, 3});
    auto zero = opening(0);
    const Secret another(Secret::Bytes{4});
    EXPECT_EQ(introduced(1, {"nccl-scaling", "17.0", another}).error().problem,
              "the connection broke");
    EXPECT_EQ(introduced(1).error().problem,
              "asks for the secret of the step, which this rank has not");
    auto one = opening(1);
    auto two = opening(2);
    take(zero, one, two);
    EXPECT_EQ(channels[0]->peers()[1].host, "node1");
}

// Nor is who listens where rank 0 should be rank 0.
TEST_F(Channels, AStrangerIsNeverRank0) {
    secret = Secret(Secret::Bytes{1, 2, 3});
    timeout = 500ms;
    const auto listener = listen_on(port);
    ASSERT_TRUE(listener);
    auto one = opening(1);
    Host impostor({"nccl-scaling", "17.0", Secret(Secret::Bytes{4})});
    for (const Deadline end = Clock::now() + timeout; Clock::now() < end;) {
        impostor.greet(*listener);
        EXPECT_TRUE(impostor.introduced().empty());
        std::this_thread::sleep_for(5ms);
    }
    EXPECT_FALSE(one.get());
}

TEST_F(Channels, WhatNothingProvesIsTold) {
    std::vector<std::string> told;
    Membership alone = membership(0);
    alone.world_size = 1;
    ChannelOptions of_rank_0 = options(0);
    of_rank_0.warn = [&](const Error& error) { told.push_back(error.message()); };
    ASSERT_TRUE(open_channel(alone, of_rank_0));
    EXPECT_THAT(told, testing::IsEmpty());  // there is nobody else
    of_rank_0.timeout = 50ms;
    EXPECT_FALSE(open_channel(membership(0), of_rank_0));
    if (best_proof({}) == Proof::none) {
        EXPECT_THAT(told, ElementsAre(testing::HasSubstr("not proven to be of this run")));
    }
    of_rank_0.secret = Secret(Secret::Bytes{1});
    told.clear();
    EXPECT_FALSE(open_channel(membership(0), of_rank_0));
    EXPECT_THAT(told, testing::IsEmpty());
}

TEST_F(Channels, StrangersAreSentAway) {
    auto zero = opening(0);
    const Socket other = stranger();
    ASSERT_TRUE(send_all(other, "GET / HTTP/1.1\n", Clock::now() + 5s));
    EXPECT_EQ(receive_line(other, 100, Clock::now() + 5s).error().problem,
              "closed by the other end");
    auto one = opening(1);
    auto two = opening(2);
    take(zero, one, two);
    EXPECT_EQ(channels[0]->peers().size(), world);
    on_all([](std::uint32_t /*rank*/, Channel& channel) { channel.finish(); });
}

TEST_F(Channels, AnotherProgramIsNotRank0) {
    timeout = 300ms;
    for (const char* said : {"\n", "d\n", "HTTP/1.1 400 Bad Request\n"}) {
        const auto other = listen_on(port);
        ASSERT_TRUE(other);
        auto one = opening(1);
        auto connection = accept_from(*other);
        while (!connection) connection = accept_from(*other);
        ASSERT_TRUE(send_all(*connection, said, Clock::now() + 5s));
        const auto ending = one.get();
        ASSERT_FALSE(ending);
        EXPECT_EQ(ending.error().failure.problem,
                  "127.0.0.1:" + std::to_string(port) + ": another program answers there");
    }
}

TEST_F(Channels, ATakenPortIsNamed) {
    const auto taken = listen_on(port);
    ASSERT_TRUE(taken);
    const auto ending = open_channel(membership(0), options(0));
    ASSERT_FALSE(ending);
    EXPECT_EQ(ending.error().code, ExitCode::environment);
    EXPECT_EQ(ending.error().failure.problem,
              "port " + std::to_string(port) + ": Address already in use");
}

}  // namespace
}  // namespace distgpu::scaling
