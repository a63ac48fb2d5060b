// The handshake of server and clients, and the connection that stays.
#include "meet/handshake.h"

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <thread>

namespace distgpu {
namespace {

using namespace std::chrono_literals;

const Handshake handshake{"exec", "1.0", Secret(Secret::Bytes{1, 2, 3})};

class HandshakeTest : public testing::Test {
  protected:
    std::uint16_t port() const { return port_of(listener_); }

    // A client in its own thread; the result of its handshake.
    std::future<Result<ServerConnection>> start_client(const Handshake& as,
                                                       const std::string& text = "3") const {
        return std::async(std::launch::async, [=, this] {
            const Deadline deadline = Clock::now() + 5s;
            return connect_to_server(as, "127.0.0.1", port(), deadline)
                .and_then([&](ServerConnection server) {
                    return authenticate(std::move(server), as, text, deadline);
                });
        });
    }

    // Welcomes the first verified clients, and returns them.
    std::vector<VerifiedClient> clients_within(std::chrono::milliseconds limit) {
        const Deadline deadline = Clock::now() + limit;
        while (Clock::now() < deadline) {
            server_.accept_clients(listener_);
            auto clients = server_.verified_clients();
            for (const VerifiedClient& client : clients) EXPECT_TRUE(server_.send_welcome(client));
            if (!clients.empty()) return clients;
            std::this_thread::sleep_for(1ms);
        }
        return {};
    }

    // Whether the client accepts the server, and the server the client.
    std::pair<bool, bool> accept_each_other(const Handshake& as) {
        auto client = start_client(as);
        const bool is_accepted = !clients_within(500ms).empty();
        return {client.get().has_value(), is_accepted};
    }

    Socket listener_ = *listen_on(0);
    HandshakeServer server_{handshake};
};

TEST_F(HandshakeTest, BothEndsKnowTheText) {
    auto client = start_client(handshake, "node 3 of 4");
    const auto clients = clients_within(5s);
    ASSERT_EQ(clients.size(), 1U);
    EXPECT_EQ(clients[0].text, "node 3 of 4");
    const auto server = client.get();
    ASSERT_TRUE(server);
    EXPECT_EQ(server->challenge, clients[0].challenge);
    EXPECT_EQ(server->proof, Proof::secret);
    EXPECT_EQ(server_.rejected_count(), 0U);
}

// Both ends reject a peer that does not know the secret.
TEST_F(HandshakeTest, BothEndsMustBelongToTheStep) {
    EXPECT_EQ(accept_each_other(handshake), std::pair(true, true));
    Handshake foreign = handshake;
    foreign.secret = Secret(Secret::Bytes{9});
    EXPECT_EQ(accept_each_other(foreign), std::pair(false, false));
    EXPECT_EQ(server_.rejected_count(), 1U);
    foreign = handshake;
    foreign.step = "1.1";
    EXPECT_EQ(accept_each_other(foreign), std::pair(false, false));
    foreign = handshake;
    foreign.purpose = "check";
    EXPECT_EQ(accept_each_other(foreign), std::pair(false, false));
    foreign = handshake;
    foreign.secret.reset();
    EXPECT_EQ(accept_each_other(foreign), std::pair(false, false));
}

// A server without the secret could be anyone: a client that has it sends nothing.
TEST_F(HandshakeTest, AServerWithAWeakerProofIsRejected) {
    server_ = HandshakeServer({handshake.purpose, handshake.step, std::nullopt});
    auto client = start_client(handshake);
    EXPECT_TRUE(clients_within(300ms).empty());
    const auto server = client.get();
    ASSERT_FALSE(server);
    EXPECT_NE(server.error().problem.find("this node with 'secret'"), std::string::npos)
        << server.error().problem;
}

// Without its own proof a server could replay the answer of another one.
TEST_F(HandshakeTest, AWelcomeIsSignedWithTheClientsChallenge) {
    auto client = start_client(handshake);
    auto connection = accept_from(listener_);
    while (!connection) connection = accept_from(listener_);
    const std::string challenge(64, 'a');
    ASSERT_TRUE(
        send_all(*connection, "distgpu exec 1.0 secret " + challenge + "\n", Clock::now() + 5s));
    ASSERT_TRUE(receive_line(*connection, 1000, Clock::now() + 5s));
    const auto overheard =
        sign_line(Proof::secret, handshake.secret, std::string(64, 'b'), "welcome");
    ASSERT_TRUE(send_all(*connection, *overheard + "\n", Clock::now() + 5s));
    EXPECT_EQ(client.get().error().problem, "another program answers there");
}

// More of them than may wait at once: each that came before would cost three seconds.
TEST_F(HandshakeTest, StrangersDoNotBlockClients) {
    for (const std::string_view sent : {"", "0", "no proof\n", "0 1 \n0 1 \n"}) {
        std::vector<Socket> strangers;
        for (int i = 0; i < 600; ++i) {
            auto stranger = connect_to("127.0.0.1", port(), Clock::now() + 5s);
            ASSERT_TRUE(stranger) << i;
            static_cast<void>(send_all(*stranger, sent, Clock::now()));
            strangers.push_back(*std::move(stranger));
            if (i % 16 == 0) {
                server_.accept_clients(listener_);
                EXPECT_TRUE(server_.verified_clients().empty());
            }
        }
        auto client = start_client(handshake);
        EXPECT_EQ(clients_within(2s).size(), 1U) << sent;
        EXPECT_TRUE(client.get()) << sent;
    }
}

TEST_F(HandshakeTest, SilentConnectionsAreClosed) {
    const auto stranger = connect_to("127.0.0.1", port(), Clock::now() + 5s);
    EXPECT_TRUE(clients_within(3500ms).empty());
    ASSERT_TRUE(receive_line(*stranger, 200, Clock::now() + 1s));  // the greeting
    EXPECT_FALSE(receive_line(*stranger, 200, Clock::now() + 100ms));
    EXPECT_EQ(server_.rejected_count(), 0U);  // it has said nothing
}

// ---- What follows a report on its connection, proven as the report was.

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
        one.receive_available();
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
