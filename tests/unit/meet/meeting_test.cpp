// How host and guests meet, and the connection that stays.
#include "meet/meeting.h"

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <thread>

namespace distgpu {
namespace {

using namespace std::chrono_literals;

const Meeting meeting{"exec", "1.0", Secret(Secret::Bytes{1, 2, 3})};

class Meet : public testing::Test {
  protected:
    std::uint16_t port() const { return port_of(listener_); }

    // A guest, in a thread of its own: how it came out.
    std::future<Result<Invitation>> coming(const Meeting& as, const std::string& text = "3") const {
        return std::async(std::launch::async, [=, this] {
            const Deadline deadline = Clock::now() + 5s;
            return reach(as, "127.0.0.1", port(), deadline).and_then([&](Invitation host) {
                return introduce(std::move(host), as, text, deadline);
            });
        });
    }

    // Who introduces itself, each welcome, as soon as somebody does.
    std::vector<Guest> guests_within(std::chrono::milliseconds limit) {
        const Deadline deadline = Clock::now() + limit;
        while (Clock::now() < deadline) {
            host_.greet(listener_);
            auto guests = host_.introduced();
            for (const Guest& guest : guests) EXPECT_TRUE(host_.welcome(guest));
            if (!guests.empty()) return guests;
            std::this_thread::sleep_for(1ms);
        }
        return {};
    }

    // Whether the guest believes the host, and the host the guest.
    std::pair<bool, bool> believe(const Meeting& as) {
        auto guest = coming(as);
        const bool is_there = !guests_within(500ms).empty();
        return {guest.get().has_value(), is_there};
    }

    Socket listener_ = *listen_on(0);
    Host host_{meeting};
};

TEST_F(Meet, BothKnowWhatAGuestSaid) {
    auto guest = coming(meeting, "node 3 of 4");
    const auto guests = guests_within(5s);
    ASSERT_EQ(guests.size(), 1U);
    EXPECT_EQ(guests[0].text, "node 3 of 4");
    const auto host = guest.get();
    ASSERT_TRUE(host);
    EXPECT_EQ(host->challenge, guests[0].challenge);
    EXPECT_EQ(host->proof, Proof::secret);
    EXPECT_EQ(host_.strangers(), 0U);
}

// Neither end believes who does not know the secret.
TEST_F(Meet, BothEndsProveThatTheyAreOfTheStep) {
    EXPECT_EQ(believe(meeting), std::pair(true, true));
    Meeting foreign = meeting;
    foreign.secret = Secret(Secret::Bytes{9});
    EXPECT_EQ(believe(foreign), std::pair(false, false));
    EXPECT_EQ(host_.strangers(), 1U);
    foreign = meeting;
    foreign.step = "1.1";
    EXPECT_EQ(believe(foreign), std::pair(false, false));
    foreign = meeting;
    foreign.purpose = "check";
    EXPECT_EQ(believe(foreign), std::pair(false, false));
    foreign = meeting;
    foreign.secret.reset();
    EXPECT_EQ(believe(foreign), std::pair(false, false));
}

// A host that knows no secret could be anybody: a guest that has one tells it nothing.
TEST_F(Meet, AHostThatProvesLessIsNotBelieved) {
    host_ = Host({meeting.purpose, meeting.step, std::nullopt});
    auto guest = coming(meeting);
    EXPECT_TRUE(guests_within(300ms).empty());
    const auto host = guest.get();
    ASSERT_FALSE(host);
    EXPECT_NE(host.error().problem.find("this node by 'secret'"), std::string::npos)
        << host.error().problem;
}

// Without its own proof a host could answer with what another one said.
TEST_F(Meet, AWelcomeIsProvenByTheGuestsOwnChallenge) {
    auto guest = coming(meeting);
    auto connection = accept_from(listener_);
    while (!connection) connection = accept_from(listener_);
    const std::string challenge(64, 'a');
    ASSERT_TRUE(
        send_all(*connection, "distgpu exec 1.0 secret " + challenge + "\n", Clock::now() + 5s));
    ASSERT_TRUE(receive_line(*connection, 1000, Clock::now() + 5s));
    const auto overheard = prove(Proof::secret, meeting.secret, std::string(64, 'b'), "welcome");
    ASSERT_TRUE(send_all(*connection, *overheard + "\n", Clock::now() + 5s));
    EXPECT_EQ(guest.get().error().problem, "another program answers there");
}

// More of them than may wait at once: each that came before would cost three seconds.
TEST_F(Meet, StrangersKeepNobodyFromTheHost) {
    for (const std::string_view sent : {"", "0", "no proof\n", "0 1 \n0 1 \n"}) {
        std::vector<Socket> strangers;
        for (int i = 0; i < 600; ++i) {
            auto stranger = connect_to("127.0.0.1", port(), Clock::now() + 5s);
            ASSERT_TRUE(stranger) << i;
            static_cast<void>(send_all(*stranger, sent, Clock::now()));
            strangers.push_back(*std::move(stranger));
            if (i % 16 == 0) {
                host_.greet(listener_);
                EXPECT_TRUE(host_.introduced().empty());
            }
        }
        auto guest = coming(meeting);
        EXPECT_EQ(guests_within(2s).size(), 1U) << sent;
        EXPECT_TRUE(guest.get()) << sent;
    }
}

TEST_F(Meet, WhoSaysNothingIsSentAwayAfterAWhile) {
    const auto stranger = connect_to("127.0.0.1", port(), Clock::now() + 5s);
    EXPECT_TRUE(guests_within(3500ms).empty());
    ASSERT_TRUE(receive_line(*stranger, 200, Clock::now() + 1s));  // the greeting
    EXPECT_FALSE(receive_line(*stranger, 200, Clock::now() + 100ms));
    EXPECT_EQ(host_.strangers(), 0U);  // it has said nothing
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
