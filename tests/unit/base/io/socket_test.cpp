// Connections whose waits end.
#include "base/io/socket.h"

#include "base/io/resolve.h"
#include "resource_limit.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <thread>

namespace distgpu {
namespace {

using namespace std::chrono_literals;

Deadline in(std::chrono::milliseconds time) {
    return Clock::now() + time;
}

// Two ends of one connection over the loopback.
struct Pair {
    Socket listener = std::move(*listen_on(0));
    Socket client = std::move(*connect_to("127.0.0.1", port_of(listener), in(5s)));
    Socket server = std::move(*accept_from(listener));
};

TEST(Within, EndsAtTheDeadlineWhateverTheCallDoes) {
    EXPECT_EQ(within(in(5s), [] { return 7; }), 7);
    const auto go_on = std::make_shared<std::atomic<bool>>(false);
    EXPECT_EQ(within(in(20ms),
                     [go_on] {
                         while (!*go_on) std::this_thread::sleep_for(1ms);
                         return 7;
                     }),
              std::nullopt);
    *go_on = true;
}

TEST(Listen, OnAPortThatNobodyElseHas) {
    const auto first = listen_on(0);
    ASSERT_TRUE(first);
    const std::uint16_t port = port_of(*first);
    EXPECT_GT(port, 0);
    const auto second = listen_on(port);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().message(),
              "distgpu: port " + std::to_string(port) +
                  ": Address already in use; choose another with the key port=N");
}

TEST(Connect, ByName) {
    const auto listener = listen_on(0);
    EXPECT_TRUE(connect_to("localhost", port_of(*listener), in(5s)));
}

TEST(Connect, SaysWhyNot) {
    std::uint16_t port = 0;
    {
        port = port_of(*listen_on(0));  // and closed
    }
    const auto refused = connect_to("127.0.0.1", port, in(5s));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().object, "127.0.0.1:" + std::to_string(port));
    EXPECT_EQ(refused.error().problem, "Connection refused");
    // TCP has no broadcast: what the kernel calls it depends on its routes.
    const auto everybody = connect_to("255.255.255.255", port, in(5s));
    ASSERT_FALSE(everybody);
    EXPECT_EQ(everybody.error().object, "255.255.255.255:" + std::to_string(port));
    const auto nowhere = connect_to("nowhere.invalid", port, in(5s));
    ASSERT_FALSE(nowhere);
    EXPECT_EQ(nowhere.error().object, "nowhere.invalid");
    EXPECT_EQ(nowhere.error().problem.substr(0, 12), "no address: ");
}

// Its queue of one is full, and the kernel drops what else comes.
TEST(Connect, EndsAtTheDeadlineWhereNobodyAccepts) {
    const Socket listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in any{};
    any.sin_family = AF_INET;
    ASSERT_EQ(bind(listener.fd(), reinterpret_cast<const sockaddr*>(&any), sizeof any), 0);
    ASSERT_EQ(listen(listener.fd(), 0), 0);
    const auto queued = connect_to("127.0.0.1", port_of(listener), in(5s));
    ASSERT_TRUE(queued);
    const auto late = connect_to("127.0.0.1", port_of(listener), in(50ms));
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().problem, "Connection timed out");
}

TEST(Sockets, SayThatNoMoreFilesMayBeOpened) {
    const ResourceLimit no_files(RLIMIT_NOFILE, 0);
    const auto listener = listen_on(0);
    ASSERT_FALSE(listener);
    EXPECT_EQ(listener.error().problem, "Too many open files");
#ifndef __SANITIZE_ADDRESS__  // its partner for undefined behaviour opens a pipe to look at objects
    const auto connection = connect_to("127.0.0.1", 1, in(5s));
    ASSERT_FALSE(connection);
    EXPECT_EQ(connection.error().problem, "Too many open files");
#endif
}

TEST(Accept, NothingWhereNobodyConnects) {
    const auto listener = listen_on(0);
    EXPECT_FALSE(accept_from(*listener));
}

TEST(Lines, ComeOneByOne) {
    const Pair pair;
    ASSERT_TRUE(send_all(pair.client, "first\nsecond\nthi", in(5s)));
    EXPECT_EQ(*receive_line(pair.server, 100, in(5s)), "first");
    EXPECT_EQ(*receive_line(pair.server, 100, in(5s)), "second");
    const auto incomplete = receive_line(pair.server, 100, in(20ms));
    ASSERT_FALSE(incomplete);
    EXPECT_EQ(incomplete.error().problem, "no answer in time");
}

TEST(Lines, MayBeLongerThanTheBufferButNotThanTheLimit) {
    const Pair pair;
    const std::string text(10'000, 'x');
    ASSERT_TRUE(send_all(pair.client, text + "\n" + text + "\n", in(5s)));
    EXPECT_EQ(*receive_line(pair.server, text.size(), in(5s)), text);
    const auto too_long = receive_line(pair.server, text.size() - 1, in(5s));
    ASSERT_FALSE(too_long);
    EXPECT_EQ(too_long.error().problem, "a line of more than 9999 bytes");
}

TEST(Lines, EndWithTheConnection) {
    Pair pair;
    pair.client = Socket();
    const auto line = receive_line(pair.server, 100, in(5s));
    ASSERT_FALSE(line);
    EXPECT_EQ(line.error().problem, "closed by the other end");
}

TEST(Send, EndsAtTheDeadlineWhereNobodyReads) {
    const Pair pair;
    const std::string much(std::size_t{64} << 20U, 'x');  // more than any buffer takes
    const auto sent = send_all(pair.client, much, in(50ms));
    ASSERT_FALSE(sent);
    EXPECT_EQ(sent.error().problem, "no answer in time");
}

TEST(Send, EndsWithTheConnection) {
    Pair pair;
    pair.server = Socket();
    const std::string much(std::size_t{64} << 20U, 'x');  // more than any buffer takes
    const auto sent = send_all(pair.client, much, in(5s));
    ASSERT_FALSE(sent);
    EXPECT_EQ(sent.error().problem, "closed by the other end");
}

TEST(Address, KnowsTheLoopback) {
    const auto loopback = [](const char* host) {
        return resolve(host, 0, in(5s))->front().is_loopback();
    };
    EXPECT_TRUE(loopback("127.0.1.1"));
    EXPECT_TRUE(loopback("::1"));
    EXPECT_FALSE(loopback("10.127.0.1"));
    for (const char* other : {"fe80::1", "::1:0:0:1", "::1:0:1", "::2"}) {
        EXPECT_FALSE(loopback(other)) << other;
    }
    EXPECT_EQ(resolve("127.0.1.1", 0, in(5s))->front().to_string(), "127.0.1.1");
}

}  // namespace
}  // namespace distgpu
