// What limits a stream, by a connection over the loopback whose other end reads or does not.
#include "check/pairs/stream_limit.h"

#include "base/io/socket.h"

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>
#include <sys/socket.h>
#include <thread>

namespace distgpu {
namespace {

using namespace std::chrono_literals;

class Stream : public testing::Test {
  protected:
    const Socket listener_ = *listen_on(0);
    const Socket sender_ = *connect_to("127.0.0.1", port_of(listener_), Clock::now() + 1s);
    const Socket receiver_ = *accept_from(listener_);
};

// Sends pieces of this size until none fits.
void send_what_fits(const Socket& sender, std::size_t size) {
    const std::string much(size, 'x');
    for (auto sent = send_some(sender, much); sent && *sent > 0;) sent = send_some(sender, much);
}

// The kernel counts how long the receiver's window was the limit.
TEST_F(Stream, ToAReceiverThatDoesNotReadIsNotHeldBackByTheNetwork) {
    const auto start = Clock::now();
    StreamLimit limit(sender_.fd(), start);
    while (Clock::now() < start + 300ms) {
        send_what_fits(sender_, std::size_t{64} << 10U);
        std::this_thread::sleep_for(1ms);
        limit.note(sender_.fd(), false, Clock::now());
    }
    EXPECT_LT(limit.network_share(sender_.fd(), Clock::now()), 0.5);
}

TEST_F(Stream, IsHeldBackWhileTcpIsFull) {
    const auto start = Clock::now();
    StreamLimit limit(sender_.fd(), start);
    EXPECT_EQ(limit.network_share(sender_.fd(), start), 0);
    limit.note(sender_.fd(), true, start + 20ms);
    limit.note(sender_.fd(), false, start + 30ms);
    limit.note(sender_.fd(), false, start + 50ms);
    limit.note(sender_.fd(), true, start + 80ms);
    EXPECT_DOUBLE_EQ(limit.network_share(sender_.fd(), start + 100ms), 0.3);
}

// TCP_CORK keeps what does not fill a packet.
TEST_F(Stream, IsHeldBackWhileDataIsUnsent) {
    constexpr int on = 1;
    ASSERT_EQ(setsockopt(sender_.fd(), IPPROTO_TCP, TCP_CORK, &on, sizeof on), 0);
    const auto start = Clock::now();
    StreamLimit limit(sender_.fd(), start);
    limit.note(sender_.fd(), true, start + 20ms);
    ASSERT_TRUE(send_some(sender_, "kept"));
    limit.note(sender_.fd(), true, start + 50ms);
    EXPECT_DOUBLE_EQ(limit.network_share(sender_.fd(), start + 100ms), 0.3);
}

}  // namespace
}  // namespace distgpu
