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

// It would keep the ranks out until the time-out.
TEST_F(Channels, AStrangerThatSaysNothingIsSentAway) {
    timeout = 20s;
    auto zero = opening(0);
    auto stranger = connect_to("127.0.0.1", port, Clock::now() + 5s);
    while (!stranger) stranger = connect_to("127.0.0.1", port, Clock::now() + 5s);
    EXPECT_EQ(receive_line(*stranger, 100, Clock::now() + 10s).error().problem,
              "closed by the other end");
    auto one = opening(1);
    auto two = opening(2);
    channels.push_back(zero.get().value());
    channels.push_back(one.get().value());
    channels.push_back(two.get().value());
}

// Nobody takes the place of rank 0, or of a rank that is there.
TEST_F(Channels, APlaceIsGivenOnce) {
    auto zero = opening(0);
    const Socket two = mute_rank(2);
    for (const std::uint32_t taken : {0U, 2U}) {
        EXPECT_EQ(receive_line(mute_rank(taken), 100, Clock::now() + 5s).error().problem,
                  "closed by the other end");
    }
    auto one = opening(1);
    EXPECT_TRUE(zero.get());
    EXPECT_TRUE(one.get());
}

TEST_F(Channels, StrangersAreSentAway) {
    auto zero = opening(0);
    auto stranger = connect_to("127.0.0.1", port, Clock::now() + 5s);
    while (!stranger) stranger = connect_to("127.0.0.1", port, Clock::now() + 5s);
    ASSERT_TRUE(send_all(*stranger, "GET / HTTP/1.1\n", Clock::now() + 5s));
    EXPECT_EQ(receive_line(*stranger, 100, Clock::now() + 5s).error().problem,
              "closed by the other end");
    auto one = opening(1);
    auto two = opening(2);
    auto opened = zero.get();
    ASSERT_TRUE(opened);
    EXPECT_EQ((*opened)->peers().size(), world);
    channels.push_back(*std::move(opened));
    channels.push_back(one.get().value());
    channels.push_back(two.get().value());
    on_all([](std::uint32_t /*rank*/, Channel& channel) { channel.finish(); });
}

TEST_F(Channels, AnotherProgramIsNotRank0) {
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
                  "127.0.0.1:" + std::to_string(port) + ": not rank 0 of this run");
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
