// The control channel after all ranks have connected.
#include "bootstrap/channel.h"

#include "loopback_channels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

namespace distgpu::scaling {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::ptrdiff_t open_descriptors() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

TEST_F(Channels, Rank0GathersTextsByRankAndBroadcastsItsOwn) {
    open_all();
    on_all([](std::uint32_t rank, Channel& channel) {
        EXPECT_EQ(channel.peers().at(0), (Peer{"node0", 0, "s0"}));
        EXPECT_EQ(channel.peers().at(2), (Peer{"node2", 2, "s2"}));
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

TEST_F(Channels, ARankThatDiesEndsTheRunAtOnce) {
    open_all();
    for (auto& channel : channels) channel->begin_phase("phase");
    channels[1].reset();
    const Termination termination = terminations[0].wait();
    EXPECT_EQ(termination.code, ExitCode::environment);
    EXPECT_EQ(termination.failure, (Failure{"phase", "has died", {"rank 1 on node1"}}));
    EXPECT_THAT(channels[0]->gather(""), IsEmpty());
    // The others end after rank 0, which prints the message.
    channels[0].reset();
    EXPECT_EQ(terminations[2].wait().failure.problem, "");
}

// If a process ends before it has read everything, the kernel resets its connection, and sending to
// it fails.
TEST_F(Channels, ARankThatDiesWithUnreadTextIsNamed) {
    Socket two = open_with_silent_rank_2();
    channels[0]->begin_phase("phase");
    channels[0]->broadcast("never read");
    two = Socket();
    channels[0]->broadcast("not received");
    EXPECT_EQ(terminations[0].wait().failure, (Failure{"phase", "has died", {"rank 2 on node2"}}));
    channels[0].reset();
    EXPECT_EQ(terminations[1].wait().code, ExitCode::environment);
}

// Its last texts do not hide that it is gone.
TEST_F(Channels, ARankThatDiesWithTextThatRank0HasNotReadIsNamed) {
    Socket two = open_with_silent_rank_2();
    channels[0]->begin_phase("phase");
    ASSERT_TRUE(receive_line(two, longest_line, Clock::now() + 5s));  // the ranks' names
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(send_all(two, message_line(MessageKind::data, "unread"), Clock::now() + 5s));
    }
    two = Socket();
    EXPECT_EQ(terminations[0].wait().failure, (Failure{"phase", "has died", {"rank 2 on node2"}}));
    channels[0].reset();
    EXPECT_EQ(terminations[1].wait().code, ExitCode::environment);
}

// A waiting rank must not mistake an empty result for an answer while the process is ending.
TEST_F(Channels, NoCallReturnsBeforeTheHandlerHas) {
    for (TerminationRecorder& recorder : terminations) recorder.delay = 300ms;
    open_all();
    channels[1].reset();
    static_cast<void>(terminations[0].wait());
    Deadline begin = Clock::now();
    EXPECT_THAT(channels[0]->gather(""), IsEmpty());
    EXPECT_GE(Clock::now() - begin, 200ms);
    channels[0].reset();
    static_cast<void>(terminations[2].wait());
    begin = Clock::now();
    EXPECT_EQ(channels[2]->broadcast(""), "");
    EXPECT_GE(Clock::now() - begin, 200ms);
}

TEST_F(Channels, RanksEndWhenRank0Dies) {
    open_all();
    channels[0].reset();
    EXPECT_EQ(terminations[1].wait().failure, (Failure{"", "has died", {"rank 0 on node0"}}));
    EXPECT_EQ(channels[2]->broadcast(""), "");
}

// The watcher notices this while another thread may be sending to the rank. If it closed the
// descriptor, that could already belong to another file.
TEST_F(Channels, TheDescriptorOfARankThatLeavesAtTheEndStaysOpen) {
    Socket two = open_with_silent_rank_2();
    std::thread one([this] { channels[1]->finish(); });
    ASSERT_TRUE(send_all(two, message_line(MessageKind::data, ""), Clock::now() + 5s));
    channels[0]->finish();
    one.join();
    const auto before = open_descriptors();
    two = Socket();
    std::this_thread::sleep_for(300ms);
    EXPECT_EQ(open_descriptors(), before - 1);
    channels[0]->broadcast("not received");
    EXPECT_FALSE(terminations[0].is_called());
}

TEST_F(Channels, ASilentRankIsMissing) {
    timeout = 400ms;
    const Socket two = open_with_silent_rank_2();
    const Deadline begin = Clock::now();
    channels[0]->begin_phase("phase");
    const Termination termination = terminations[0].wait();
    EXPECT_GE(Clock::now() - begin, timeout);
    EXPECT_LT(Clock::now() - begin, 4 * timeout);
    EXPECT_EQ(termination.code, ExitCode::timed_out);
    EXPECT_EQ(termination.failure,
              (Failure{"phase", "no progress for 0.4 s", {"rank 2 on node2"}}));
    channels[0].reset();
    EXPECT_EQ(terminations[1].wait().code, ExitCode::timed_out);
}

// More than fits into a connection whose other end does not read.
const std::string long_text(std::size_t{4} << 20U, 'x');

// Neither the sender nor the watcher waits for it.
TEST_F(Channels, ARankThatDoesNotReadDelaysNoOther) {
    timeout = 2s;
    const Socket two = open_with_silent_rank_2();
    const Deadline begin = Clock::now();
    channels[0]->begin_phase("phase");
    std::this_thread::sleep_for(1500ms);
    channels[0]->broadcast(long_text);
    EXPECT_LT(Clock::now() - begin, 3 * timeout / 2);
    EXPECT_EQ(terminations[0].wait().failure,
              (Failure{"phase", "no progress for 2 s", {"rank 2 on node2"}}));
    EXPECT_LT(Clock::now() - begin, 3 * timeout / 2);
}

// It gets the pending text as soon as it reads again.
TEST_F(Channels, ASlowRankReceivesEverything) {
    const Socket two = open_with_silent_rank_2();
    channels[0]->broadcast(long_text);
    EXPECT_TRUE(channels[1]->broadcast("") == long_text);
    std::this_thread::sleep_for(300ms);  // the watcher pings meanwhile
    const auto line_to_two = [&] { return receive_line(two, longest_line, Clock::now() + 5s); };
    ASSERT_TRUE(line_to_two());  // the ranks' names
    auto line = line_to_two();
    while (line && *line == "?") line = line_to_two();
    ASSERT_TRUE(line);
    EXPECT_TRUE(*line == "d" + long_text);
}

// All answer; the one behind has not reached the collective in which the others wait.
TEST_F(Channels, IfAllRanksAnswerTheOneBehindIsMissing) {
    timeout = 1s;
    open_all();
    on_all([](std::uint32_t rank, Channel& channel) {
        channel.begin_phase("phase");
        for (int i = 0; i < (rank == 1 ? 2 : 3); ++i) channel.report_progress();
    });
    EXPECT_THAT(terminations[0].wait().failure.missing, ElementsAre("rank 1 on node1"));
}

TEST_F(Channels, ProgressOfAnyKindKeepsTheRunAlive) {
    timeout = 500ms;
    open_all();
    // The new phase comes first: the followers do not get it, so their answers would look like
    // progress.
    const std::vector<std::function<void()>> kinds{
        [&] { channels[0]->begin_phase("next"); }, [&] { channels[2]->report_progress(); },
        [&] { channels[0]->report_progress(); }, [&] { channels[1]->gather("a text"); }};
    for (const auto& progress : kinds) {
        for (const Deadline end = Clock::now() + 1s; Clock::now() < end;) {
            progress();
            std::this_thread::sleep_for(50ms);
        }
    }
    on_all([](std::uint32_t /*rank*/, Channel& channel) { channel.finish(); });
    channels.clear();
    EXPECT_FALSE(terminations[0].is_called());
}

// It delays the watcher no longer than the time limit of a line.
TEST_F(Channels, ARankThatStopsWithinALineIsLost) {
    const Socket two = open_with_silent_rank_2();
    ASSERT_TRUE(send_all(two, "dhalf a l", Clock::now() + 5s));
    EXPECT_EQ(terminations[0].wait().failure, (Failure{"", "has died", {"rank 2 on node2"}}));
}

// A rank that has sent its text waits for the others, however little progress it made.
TEST_F(Channels, AFinishedRankIsNotBehind) {
    timeout = 1s;
    open_all();
    channels[1]->report_progress();
    channels[2]->gather("done");
    std::thread zero([this] { channels[0]->gather("done"); });
    EXPECT_THAT(terminations[0].wait().failure.missing, ElementsAre("rank 1 on node1"));
    zero.join();
}

TEST_F(Channels, ARankThatFailsSendsItsReason) {
    open_all();
    std::thread failing([this] { channels[1]->fail(ExitCode::wrong_data, "element 3 is 4"); });
    const Termination termination = terminations[0].wait();
    EXPECT_EQ(termination.code, ExitCode::wrong_data);
    EXPECT_EQ(termination.failure, (Failure{"", "element 3 is 4", {"rank 1 on node1"}}));
    channels[0].reset();
    EXPECT_EQ(terminations[1].wait().code, ExitCode::wrong_data);
    failing.join();
}

}  // namespace
}  // namespace distgpu::scaling
