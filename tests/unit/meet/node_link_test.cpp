// What follows a report on its connection, proven as the report was.
#include "meet/node_link.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <string>
#include <sys/socket.h>
#include <utility>

namespace distgpu {
namespace {

using namespace std::chrono_literals;

const auto secret = Secret::parse(std::string(64, '5'));
const std::string challenge(64, 'a');

class NodeLinkTest : public testing::Test {
  protected:
    NodeLinkTest() {
        std::array<int, 2> ends{};
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data());
        first_ = Socket(ends[0]);
        second_ = Socket(ends[1]);
    }

    NodeLink link(Socket& end, const std::string& of = challenge) const {
        return {std::move(end), Proof::secret, secret, of};
    }

    Socket first_;
    Socket second_;
};

TEST_F(NodeLinkTest, LinesArriveWhole) {
    NodeLink one = link(first_);
    NodeLink other = link(second_);
    const std::string longer(20'000, 'x');
    EXPECT_TRUE(one.send("start", Clock::now() + 1s));
    EXPECT_TRUE(one.send(longer, Clock::now() + 1s));
    EXPECT_EQ(other.wait_for_line(Clock::now() + 5s), "start");
    EXPECT_EQ(other.wait_for_line(Clock::now() + 5s), longer);
    EXPECT_EQ(other.wait_for_line(Clock::now() + 50ms), std::nullopt);
    EXPECT_TRUE(other.is_open());
}

TEST_F(NodeLinkTest, ALineWithoutAProofEndsIt) {
    NodeLink one = link(first_);
    ASSERT_TRUE(send_all(second_, "verdict 0\n", Clock::now() + 1s));
    EXPECT_EQ(one.wait_for_line(Clock::now() + 5s), std::nullopt);
    EXPECT_FALSE(one.is_open());
}

// What was overheard on another connection.
TEST_F(NodeLinkTest, ALineOfAnotherConnectionEndsIt) {
    NodeLink one = link(first_);
    NodeLink other = link(second_, std::string(64, 'b'));
    ASSERT_TRUE(other.send("verdict 0", Clock::now() + 1s));
    EXPECT_EQ(one.wait_for_line(Clock::now() + 5s), std::nullopt);
    EXPECT_FALSE(one.is_open());
}

TEST_F(NodeLinkTest, TooMuchWithoutALineEndsIt) {
    NodeLink one = link(first_);
    const std::string flood(1 << 20, 'x');
    std::size_t sent = 0;
    while (one.is_open() && sent < flood.size()) {
        const ssize_t now = send(second_.fd(), flood.data(), 4096, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (now > 0) sent += static_cast<std::size_t>(now);
        one.take_arrived();
    }
    EXPECT_FALSE(one.is_open());
    EXPECT_LT(sent, flood.size());
}

TEST_F(NodeLinkTest, TheOtherEndsCloseEndsIt) {
    NodeLink one = link(first_);
    second_ = Socket();
    EXPECT_EQ(one.wait_for_line(Clock::now() + 5s), std::nullopt);
    EXPECT_FALSE(one.is_open());
    EXPECT_FALSE(one.send("start", Clock::now() + 1s));
}

}  // namespace
}  // namespace distgpu
