// Ranks as threads of this process, over the loopback interface.
#pragma once

#include "base/io/socket.h"
#include "bootstrap/channel.h"
#include "bootstrap/messages.h"
#include "meet/meeting.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace distgpu::scaling {

using namespace std::chrono_literals;

inline std::uint16_t free_port() {
    return port_of(*listen_on(0));
}

// What one rank's channel said at its end.
class Listener {
  public:
    End end() {
        return [this](const Ending& ending) {
            said_.set_value(ending);
            std::this_thread::sleep_for(takes);
        };
    }
    bool called() { return said_.get_future().wait_for(0s) == std::future_status::ready; }
    Ending wait() {
        auto said = said_.get_future();
        if (said.wait_for(5s) != std::future_status::ready) return {};
        return said.get();
    }

    std::chrono::milliseconds takes{0};  // end()

  private:
    std::promise<Ending> said_;
};

class Channels : public testing::Test {
  protected:
    static constexpr std::uint32_t world = 3;

    Membership membership(std::uint32_t rank) const {
        const std::string number = std::to_string(rank);
        return {rank, world, rank, "node" + number, "127.0.0.1", port, "17.0", "s" + number};
    }

    ChannelOptions options(std::uint32_t rank) {
        return {timeout, [](std::uint32_t r) { return "missing " + std::to_string(r); },
                ends.at(rank).end(), secret};
    }

    using Opening = std::future<tl::expected<std::unique_ptr<Channel>, Ending>>;

    Opening opening(std::uint32_t rank) {
        return std::async(std::launch::async,
                          [this, rank] { return open_channel(membership(rank), options(rank)); });
    }

    // All of them must open.
    template <class... Openings>
    void take(Openings&... openings) {
        (channels.push_back(openings.get().value()), ...);
    }

    void open_all() {
        auto zero = opening(0);
        auto one = opening(1);
        auto two = opening(2);
        take(zero, one, two);
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

    // Introduces itself as this rank does, once rank 0 listens.
    Result<Invitation> introduced(std::uint32_t rank,
                                  const Meeting& meeting = {"nccl-scaling", "17.0"}) const {
        const Deadline deadline = Clock::now() + 5s;
        auto zero = reach(meeting, "127.0.0.1", port, deadline);
        while (!zero && zero.error().problem == "Connection refused" && Clock::now() < deadline)
            zero = reach(meeting, "127.0.0.1", port, deadline);
        return std::move(zero).and_then([&](Invitation host) {
            return introduce(std::move(host), meeting, hello_text(membership(rank)), deadline);
        });
    }

    // A connection that says what this rank says, and then nothing.
    Socket mute_rank(std::uint32_t rank) const {
        auto zero = introduced(rank);
        EXPECT_TRUE(zero);
        return zero ? std::move(zero->socket) : Socket();
    }

    // Of somebody else, who was greeted.
    Socket stranger() const {
        auto connection = connect_to("127.0.0.1", port, Clock::now() + 5s);
        while (!connection) connection = connect_to("127.0.0.1", port, Clock::now() + 5s);
        EXPECT_TRUE(receive_line(*connection, 200, Clock::now() + 5s));
        return *std::move(connection);
    }

    // All ranks, of which the last is such a connection.
    Socket open_with_mute_rank_2() {
        auto zero = opening(0);
        auto one = opening(1);
        Socket two = mute_rank(2);
        take(zero, one);
        return two;
    }

    std::chrono::milliseconds timeout = 5s;
    std::optional<Secret> secret{};
    std::uint16_t port = free_port();
    std::vector<Listener> ends = std::vector<Listener>(world);
    std::vector<std::unique_ptr<Channel>> channels;
};

}  // namespace distgpu::scaling
