// Ranks as threads of this process, over the loopback interface.
#include "bootstrap/channel.h"

#include "bootstrap/messages.h"
#include "tcp/socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

namespace distgpu::scaling {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

std::uint16_t free_port() {
    return port_of(*listen_on(0));
}

// What one rank's channel said at its end.
class Listener {
  public:
    End end() {
        return [this](const Ending& ending) { said_.set_value(ending); };
    }
    bool called() { return said_.get_future().wait_for(0s) == std::future_status::ready; }
    Ending wait() {
        auto said = said_.get_future();
        if (said.wait_for(5s) != std::future_status::ready) return {};
        return said.get();
    }

  private:
    std::promise<Ending> said_;
};

class Channels : public testing::Test {
  protected:
    static constexpr std::uint32_t world = 3;

    Place place(std::uint32_t rank) const {
        return {rank, world, rank, "node" + std::to_string(rank), "127.0.0.1", port, "17.0"};
    }

    ChannelOptions options(std::uint32_t rank) {
        return {timeout, [](std::uint32_t r) { return "missing " + std::to_string(r); },
                ends.at(rank).end()};
    }

    auto opening(std::uint32_t rank) {
        return std::async(std::launch::async,
                          [this, rank] { return open_channel(place(rank), options(rank)); });
    }

    void open_all() {
        std::vector<std::future<tl::expected<std::unique_ptr<Channel>, Ending>>> openings;
        for (std::uint32_t rank = 0; rank < world; ++rank) openings.push_back(opening(rank));
        for (auto& opened : openings) channels.push_back(opened.get().value());
    }

    // Runs the same on each rank at the same time.
    template <class Action>
    void on_all(Action action) {
        std::vector<std::thread> threads;
        for (std::uint32_t rank = 0; rank < world; ++rank) {
            threads.emplace_back([&, rank] { action(rank, *channels[rank]); });
        }
        for (std::thread& thread : threads) thread.join();
    }

    // A connection that says what rank 2 says, and then nothing.
    Socket mute_rank_2() const {
        auto connection = connect_to("127.0.0.1", port, Clock::now() + 5s);
        while (!connection) connection = connect_to("127.0.0.1", port, Clock::now() + 5s);
        EXPECT_TRUE(send_all(*connection, hello_line(place(2)), Clock::now() + 5s));
        return *std::move(connection);
    }

    std::chrono::milliseconds timeout = 5s;
    std::uint16_t port = free_port();
    std::vector<Listener> ends = std::vector<Listener>(world);
    std::vector<std::unique_ptr<Channel>> channels;
};

TEST_F(Channels, TextsReachRank0InTheOrderOfRanksAndItsOwnReachesAll) {
    open_all();
    on_all([](std::uint32_t rank, Channel& channel) {
        EXPECT_EQ(channel.peers().at(2), (Peer{"node2", 2}));
        for (int turn = 0; turn < 3; ++turn) {
            const auto texts = channel.gather(std::to_string(10 * turn + static_cast<int>(rank)));
            if (rank == 0) {
                EXPECT_EQ(texts.at(2), std::to_string(10 * turn + 2));
            } else {
                EXPECT_THAT(texts, IsEmpty());
            }
            EXPECT_EQ(channel.broadcast(rank == 0 ? "go" : "ignored"), "go");
        }
        channel.finish();
    });
}

TEST_F(Channels, AMissingRankIsNamedAtTheTimeout) {
    timeout = 300ms;
    auto zero = opening(0);
    auto one = opening(1);
    const auto ending = zero.get();
    ASSERT_FALSE(ending);
    EXPECT_EQ(ending.error().code, ExitCode::time_out);
    EXPECT_EQ(ending.error().failure.problem, "2 of 3 ranks came within 0.3 s");
    EXPECT_THAT(ending.error().failure.missing, ElementsAre("missing 2"));
    EXPECT_FALSE(one.get());
}

TEST_F(Channels, StrangersAreSentAway) {
    auto zero = opening(0);
    auto stranger = connect_to("127.0.0.1", port, Clock::now() + 5s);
    while (!stranger) stranger = connect_to("127.0.0.1", port, Clock::now() + 5s);
    ASSERT_TRUE(send_all(*stranger, "GET / HTTP/1.1\n", Clock::now() + 5s));
    EXPECT_EQ(receive_line(*stranger, 100, Clock::now() + 5s).error().problem,
              "closed by the other side");
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

TEST_F(Channels, ARankThatDiesEndsTheRunAtOnce) {
    open_all();
    for (auto& channel : channels) channel->begin("phase");
    channels[1].reset();
    const Ending ending = ends[0].wait();
    EXPECT_EQ(ending.code, ExitCode::environment);
    EXPECT_EQ(ending.failure, (Failure{"phase", "has died", {"rank 1 on node1"}}));
    EXPECT_THAT(channels[0]->gather(""), IsEmpty());
    // The others leave after rank 0, and leave the words to it.
    channels[0].reset();
    EXPECT_EQ(ends[2].wait().failure.problem, "");
}

TEST_F(Channels, RanksEndWhenRank0Dies) {
    open_all();
    channels[0].reset();
    EXPECT_EQ(ends[1].wait().failure, (Failure{"", "has died", {"rank 0 on node0"}}));
    EXPECT_EQ(channels[2]->broadcast(""), "");
}

TEST_F(Channels, ARankThatIsSilentIsTheMissingOne) {
    timeout = 400ms;
    auto zero = opening(0);
    auto one = opening(1);
    const Socket two = mute_rank_2();
    channels.push_back(zero.get().value());
    channels.push_back(one.get().value());
    const Deadline begin = Clock::now();
    channels[0]->begin("phase");
    const Ending ending = ends[0].wait();
    EXPECT_GE(Clock::now() - begin, timeout);
    EXPECT_LT(Clock::now() - begin, 4 * timeout);
    EXPECT_EQ(ending.code, ExitCode::time_out);
    EXPECT_EQ(ending.failure, (Failure{"phase", "no progress for 0.4 s", {"rank 2 on node2"}}));
    channels[0].reset();
    EXPECT_EQ(ends[1].wait().code, ExitCode::time_out);
}

// All answer: the one that is behind has not come to the collective that the others wait in.
TEST_F(Channels, OfRanksThatAllAnswerTheOneBehindIsMissing) {
    timeout = 1s;
    open_all();
    on_all([](std::uint32_t rank, Channel& channel) {
        channel.begin("phase");
        for (int i = 0; i < (rank == 1 ? 2 : 3); ++i) channel.made_progress();
    });
    EXPECT_THAT(ends[0].wait().failure.missing, ElementsAre("rank 1 on node1"));
}

TEST_F(Channels, ProgressKeepsTheRunAlive) {
    timeout = 500ms;
    open_all();
    const Deadline end = Clock::now() + 1500ms;
    while (Clock::now() < end) {
        channels[2]->made_progress();
        std::this_thread::sleep_for(50ms);
    }
    on_all([](std::uint32_t /*rank*/, Channel& channel) { channel.finish(); });
    channels.clear();
    EXPECT_FALSE(ends[0].called());
}

TEST_F(Channels, ARankThatCannotGoOnSaysWhy) {
    open_all();
    std::thread failing([this] { channels[1]->fail(ExitCode::wrong_data, "element 3 is 4"); });
    const Ending ending = ends[0].wait();
    EXPECT_EQ(ending.code, ExitCode::wrong_data);
    EXPECT_EQ(ending.failure, (Failure{"", "element 3 is 4", {"rank 1 on node1"}}));
    channels[0].reset();
    EXPECT_EQ(ends[1].wait().code, ExitCode::wrong_data);
    failing.join();
}

TEST_F(Channels, ATakenPortIsNamed) {
    const auto taken = listen_on(port);
    ASSERT_TRUE(taken);
    const auto ending = open_channel(place(0), options(0));
    ASSERT_FALSE(ending);
    EXPECT_EQ(ending.error().code, ExitCode::environment);
    EXPECT_EQ(ending.error().failure.problem,
              "port " + std::to_string(port) + ": Address already in use");
}

}  // namespace
}  // namespace distgpu::scaling
