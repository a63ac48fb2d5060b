// Connections whose waits end.
#include "base/io/socket.h"

#include "base/io/resolve.h"
#include "mapping/message_of.h"
#include "resource_limit.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>

namespace distgpu {
namespace {

using namespace std::chrono_literals;

Deadline in(std::chrono::milliseconds time) {
    return Clock::now() + time;
}

template <class T>
std::string problem_of(const Result<T>& result) {
    return result ? "" : result.error().problem;
}

// Two ends of one connection over the loopback.
struct Pair {
    Socket listener = std::move(*listen_on(0));
    Socket client = std::move(*connect_to("127.0.0.1", port_of(listener), in(5s)));
    Socket server = std::move(*accept_from(listener));
};

TEST(Within, EndsAtTheDeadlineWhateverTheCallDoes) {
    EXPECT_EQ(call_within(in(5s), [] { return 7; }), 7);
    const auto go_on = std::make_shared<std::atomic<bool>>(false);
    EXPECT_EQ(call_within(in(20ms),
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
    EXPECT_EQ(message_of(listen_on(port)),
              "distgpu: port " + std::to_string(port) +
                  ": Address already in use; choose another with the key port=N");
}

// ---- Whether a port counts as taken.

// A socket of this family, bound to a port that the kernel chooses; port 0 where the machine lacks
// the family.
struct Bound {
    Bound(int family, bool loopback, int option) : socket(::socket(family, SOCK_STREAM, 0)) {
        constexpr int on = 1;
        sockaddr_in6 ipv6{};
        ipv6.sin6_family = AF_INET6;
        if (loopback) ipv6.sin6_addr = in6addr_loopback;
        sockaddr_in ipv4{};
        ipv4.sin_family = AF_INET;
        if (loopback) ipv4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (family == AF_INET6) setsockopt(socket.fd(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
        if (option != 0) setsockopt(socket.fd(), SOL_SOCKET, option, &on, sizeof on);
        const auto* const address = family == AF_INET6 ? reinterpret_cast<const sockaddr*>(&ipv6)
                                                       : reinterpret_cast<const sockaddr*>(&ipv4);
        const socklen_t size = family == AF_INET6 ? sizeof ipv6 : sizeof ipv4;
        if (bind(socket.fd(), address, size) == 0) port = port_of(socket);
    }

    Socket socket;
    std::uint16_t port = 0;
};

TEST(IsPortTaken, SeesAListenerWhereverItListens) {
    struct Row {
        int family;
        bool loopback;
        int option;
    };
    for (const Row& row :
         {Row{AF_INET, true, 0},
          // As torch's TCPStore and most servers do.
          Row{AF_INET, false, SO_REUSEADDR},
          // Two of them would share the port, and the connections, silently.
          Row{AF_INET, false, SO_REUSEPORT}, Row{AF_INET6, true, 0}, Row{AF_INET6, false, 0}}) {
        Bound listener(row.family, row.loopback, row.option);
        if (listener.port == 0 && row.family == AF_INET6) GTEST_SKIP() << "no IPv6 here";
        ASSERT_NE(listener.port, 0);
        ASSERT_EQ(listen(listener.socket.fd(), 1), 0);
        EXPECT_TRUE(is_port_taken(listener.port));
        // The check itself leaves nothing behind.
        EXPECT_TRUE(is_port_taken(listener.port));
        listener.socket = Socket();
        EXPECT_FALSE(is_port_taken(listener.port));
    }
}

// A server that ended a moment ago left its port in TIME_WAIT: the next one,
// with SO_REUSEADDR, may listen there.
TEST(IsPortTaken, TimeWaitIsNotTaken) {
    Pair pair;
    const std::uint16_t port = port_of(pair.listener);
    // The side that closes first is the one that waits.
    pair.server = Socket();
    ASSERT_FALSE(receive_line(pair.client, 1, in(5s)));
    pair.client = Socket();
    pair.listener = Socket();
    const Socket naive(socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_port = htons(port);
    ASSERT_NE(bind(naive.fd(), reinterpret_cast<const sockaddr*>(&any), sizeof any), 0)
        << "no connection in TIME_WAIT: this test shows nothing";
    EXPECT_FALSE(is_port_taken(port));
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
    EXPECT_EQ(problem_of(connect_to("127.0.0.1", port_of(listener), in(50ms))),
              "Connection timed out");
}

TEST(Sockets, SayThatNoMoreFilesMayBeOpened) {
    const ResourceLimit no_files(RLIMIT_NOFILE, 0);
    EXPECT_EQ(problem_of(listen_on(0)), "Too many open files");
#ifndef __SANITIZE_ADDRESS__  // its partner for undefined behaviour opens a pipe to look at objects
    EXPECT_EQ(problem_of(connect_to("127.0.0.1", 1, in(5s))), "Too many open files");
#endif
}

TEST(Lines, ComeOneByOne) {
    const Pair pair;
    ASSERT_TRUE(send_all(pair.client, "first\nsecond\nthi", in(5s)));
    EXPECT_EQ(*receive_line(pair.server, 100, in(5s)), "first");
    EXPECT_EQ(*receive_line(pair.server, 100, in(5s)), "second");
    EXPECT_EQ(problem_of(receive_line(pair.server, 100, in(20ms))), "no answer in time");
}

TEST(Lines, MayBeLongerThanTheBufferButNotThanTheLimit) {
    const Pair pair;
    const std::string text(10'000, 'x');
    ASSERT_TRUE(send_all(pair.client, text + "\n" + text + "\n", in(5s)));
    EXPECT_EQ(*receive_line(pair.server, text.size(), in(5s)), text);
    EXPECT_EQ(problem_of(receive_line(pair.server, text.size() - 1, in(5s))),
              "a line of more than 9999 bytes");
}

TEST(Lines, EndWithTheConnection) {
    Pair pair;
    pair.client = Socket();
    EXPECT_EQ(problem_of(receive_line(pair.server, 100, in(5s))), "closed by the other end");
}

TEST(Send, EndsAtTheDeadlineAndWithTheConnection) {
    Pair pair;
    const std::string much(std::size_t{64} << 20U, 'x');  // more than any buffer takes
    EXPECT_EQ(problem_of(send_all(pair.client, much, in(50ms))), "no answer in time");
    pair.server = Socket();
    EXPECT_EQ(problem_of(send_all(pair.client, much, in(5s))), "closed by the other end");
}

}  // namespace
}  // namespace distgpu
