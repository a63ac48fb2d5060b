// Ranks as threads of this process, over the loopback interface.
#pragma once

#include "base/io/socket.h"
#include "bootstrap/channel.h"
#include "bootstrap/messages.h"
#include "meet/handshake.h"

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

// Records the termination of one rank's channel.
class TerminationRecorder {
  public:
    TerminationHandler handler() {
        return [this](const Termination& termination) {
            termination_.set_value(termination);
            std::this_thread::sleep_for(delay);
        };
    }
    bool is_called() { return termination_.get_future().wait_for(0s) == std::future_status::ready; }
    Termination wait() {
        auto future = termination_.get_future();
        if (future.wait_for(5s) != std::future_status::ready) return {};
        return future.get();
    }

    std::chrono::milliseconds delay{0};  // before the handler returns

  private:
    std::promise<Termination> termination_;
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
                terminations.at(rank).handler(), secret};
    }

    using Opening = std::future<tl::expected<std::unique_ptr<Channel>, Termination>>;

    Opening opening(std::uint32_t rank) {
        return std::async(std::launch::async,
                          [this, rank] { return open_channel(membership(rank), options(rank)); });
    }

    // Precondition: all of them open successfully.
    template <class... Openings>
    void add_channels(Openings&... openings) {
        (channels.push_back(openings.get().value()), ...);
    }

    void open_all() {
        auto zero = opening(0);
        auto one = opening(1);
        auto two = opening(2);
        add_channels(zero, one, two);
    }

    // Runs `action` on all ranks at the same time.
    template <class Action>
    void on_all(Action action) {
        std::vector<std::thread> threads;
        for (std::uint32_t rank = 0; rank < world; ++rank) {
            threads.emplace_back([&, rank] { action(rank, *channels[rank]); });
        }
        for (std::thread& thread : threads) thread.join();
    }

    // Connects as this rank does, once rank 0 listens.
    Result<ServerConnection> connect_as(std::uint32_t rank, const Handshake& handshake = {
                                                                "nccl-scaling", "17.0"}) const {
        const Deadline deadline = Clock::now() + 5s;
        auto zero = connect_to_server(handshake, "127.0.0.1", port, deadline);
        while (!zero && zero.error().problem == "Connection refused" && Clock::now() < deadline)
            zero = connect_to_server(handshake, "127.0.0.1", port, deadline);
        return std::move(zero).and_then([&](ServerConnection server) {
            return authenticate(std::move(server), handshake, hello_text(membership(rank)),
                                deadline);
        });
    }

    // A connection that introduces itself as this rank, and then sends nothing.
    Socket silent_rank(std::uint32_t rank) const {
        auto zero = connect_as(rank);
        EXPECT_TRUE(zero);
        return zero ? std::move(zero->socket) : Socket();
    }

    // The connection of another program, after rank 0's first line.
    Socket stranger() const {
        auto connection = connect_to("127.0.0.1", port, Clock::now() + 5s);
        while (!connection) connection = connect_to("127.0.0.1", port, Clock::now() + 5s);
        EXPECT_TRUE(receive_line(*connection, 200, Clock::now() + 5s));
        return *std::move(connection);
    }

    // Opens all ranks; the last one is a silent_rank().
    Socket open_with_silent_rank_2() {
        auto zero = opening(0);
        auto one = opening(1);
        Socket two = silent_rank(2);
        add_channels(zero, one);
        return two;
    }

    std::chrono::milliseconds timeout = 5s;
    std::optional<Secret> secret{};
    std::uint16_t port = free_port();
    std::vector<TerminationRecorder> terminations = std::vector<TerminationRecorder>(world);
    std::vector<std::unique_ptr<Channel>> channels;
};

}  // namespace distgpu::scaling
