// The connections of a process in which bytes wait.
#include "inspect/connections.h"

#include "base/io/deadline.h"
#include "base/io/socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <unistd.h>

namespace distgpu {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

const std::string heading =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode\n";

// Of /proc/net/tcp and tcp6 on x86-64.
TEST(ParseTcp, TellsPeersAndQueues) {
    EXPECT_THAT(
        parse_tcp(heading +
                  "   0: 0100000A:6020 0200000A:D2F0 01 0000002A:0000001F 00:00000000 00000000  "
                  "1000        0 4711 1 0000000000000000 20 4 30 10 -1\n"
                  "   1: 00000000000000000000000001000000:1F90 "
                  "B80D0120000000000000000001000000:0016 01 00000000:00000000 00:00000000 00000000 "
                  " 1000        0 4712 1 0000000000000000 20 4 30 10 -1\n"),
        ElementsAre(Pair(4711, Connection{"10.0.0.2:54000", 42, 31}),
                    Pair(4712, Connection{"[2001:db8::1]:22", 0, 0})));
}

std::string established(const std::string& peer, const std::string& queues,
                        const std::string& inode, const std::string& state = "01") {
    return "0: 0100000A:6020 " + peer + " " + state + " " + queues + " 00:0 0 1000 0 " + inode +
           "\n";
}

TEST(ParseTcp, LeavesOutWhatIsNotEstablished) {
    EXPECT_THAT(parse_tcp(established("00000000:0000", "0:0", "7", "0A")), IsEmpty());
    EXPECT_THAT(parse_tcp(established("0200000A:6020", "0:0", "7", "06")), IsEmpty());
}

TEST(ParseTcp, ReadsNothingIntoOtherLines) {
    EXPECT_THAT(parse_tcp(""), IsEmpty());
    EXPECT_THAT(parse_tcp(heading + "\n0: 1\n"), IsEmpty());
    EXPECT_THAT(parse_tcp(established("0200000A:6020", "0:0", "x")), IsEmpty());
}

TEST(ParseTcp, ReadsNothingIntoOtherPeers) {
    for (const std::string peer :
         {"0200000A", ":", ":6020", "0200000A:", "0200000:6020", "0200000A0:6020", "0200000X:6020",
          "0200000A:6020:1", "0200000A:10000", "0200000A:-1", "0200000A0200000A:6020"}) {
        EXPECT_THAT(parse_tcp(established(peer, "0:0", "7")), IsEmpty()) << peer;
    }
}

TEST(ParseTcp, ReadsNothingIntoOtherQueues) {
    for (const std::string queues : {"0", ":", "0:", ":0", "x:0", "0:11112222333344445"}) {
        EXPECT_THAT(parse_tcp(established("0200000A:6020", queues, "7")), IsEmpty()) << queues;
    }
}

// Two ends of one connection, of which the one that was taken has unread bytes.
class Connected {
  public:
    explicit Connected(Deadline soon)
        : listener_(*listen_on(0)), client_(*connect_to("127.0.0.1", port_of(listener_), soon)) {
        while (!server_ && Clock::now() < soon) server_ = accept_from(listener_);
    }

    const Socket& client() const { return client_; }

  private:
    Socket listener_;
    Socket client_;
    std::optional<Socket> server_;
};

TEST(OpenConnections, AreThoseOfTheProcess) {
    const auto soon = Clock::now() + std::chrono::seconds(5);
    const Connected connected(soon);
    EXPECT_EQ(open_connections(getpid()).size(), 2U);
    ASSERT_TRUE(send_all(connected.client(), "ten bytes.", soon));
    const std::string port = std::to_string(port_of(connected.client()));
    const auto connections = open_connections(getpid());
    ASSERT_EQ(connections.size(), 2U);
    EXPECT_THAT(connections[0], AnyOf(Connection{"127.0.0.1:" + port, 0, 10},
                                      Connection{"[::ffff:127.0.0.1]:" + port, 0, 10}));
    // The other end, from which nothing came.
    EXPECT_EQ(connections[1].unsent + connections[1].unread, 0U);
    EXPECT_THAT(open_connections(-1), IsEmpty());
}

}  // namespace
}  // namespace distgpu
