// The verdict from a node's first rank to its others.
#include "meet/verdict_socket.h"

#include "base/io/socket.h"

#include <gtest/gtest.h>

#include <csignal>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace distgpu {
namespace {

using namespace std::chrono_literals;

const auto secret = Secret::parse(std::string(64, '5'));

std::future<std::optional<int>> other_rank(const std::string& name, std::uint32_t rank,
                                           std::chrono::milliseconds late = 0ms) {
    return std::async(std::launch::async, [=] {
        std::this_thread::sleep_for(late);
        return await_verdict(name, rank, Clock::now() + 5s, Clock::now() + 10s);
    });
}

TEST(VerdictSocket, EveryOtherRankHearsTheVerdict) {
    const std::string name = verdict_socket_name("1.0", 7, secret);
    // Two that come before the first rank listens, one after it has told.
    std::vector<std::future<std::optional<int>>> others;
    others.push_back(other_rank(name, 1));
    others.push_back(other_rank(name, 2));
    Socket ear = listen_by_name(name);
    ASSERT_TRUE(ear.is_open());
    others.push_back(other_rank(name, 3, 100ms));
    OtherLocalRanks(std::move(ear), {1, 2, 3}).send_verdict(4, Clock::now() + 10s);
    for (auto& other : others) EXPECT_EQ(other.get(), 4);
}

TEST(VerdictSocket, WhoDoesNotAnswerIsNamedBeforeTheVerdict) {
    const std::string name = verdict_socket_name("1.2", 7, secret);
    auto first = other_rank(name, 21);
    auto late = other_rank(name, 23, 100ms);
    OtherLocalRanks ranks(listen_by_name(name), {21, 22, 23});
    EXPECT_EQ(ranks.find_silent(Clock::now() + 1s), (std::set<std::uint32_t>{22}));
    const auto start = Clock::now();
    ranks.send_verdict(4, start + 10s);
    EXPECT_LT(Clock::now() - start, 5s) << "it was waited for once";
    EXPECT_EQ(first.get(), 4);
    EXPECT_EQ(late.get(), 4);
}

TEST(VerdictSocket, AllThereAnswerAtOnce) {
    const std::string name = verdict_socket_name("1.3", 7, secret);
    OtherLocalRanks ranks(listen_by_name(name), {1, 2});
    auto one = other_rank(name, 1);
    auto two = other_rank(name, 2);
    const auto start = Clock::now();
    EXPECT_TRUE(ranks.find_silent(start + 10s).empty());
    EXPECT_LT(Clock::now() - start, 2s);
    ranks.send_verdict(0, Clock::now());
    EXPECT_EQ(one.get(), 0);
    EXPECT_EQ(two.get(), 0);
}

// It connected, and says nothing more, or has ended.
TEST(VerdictSocket, AConnectionIsNoAnswer) {
    const std::string name = verdict_socket_name("1.4", 7, secret);
    OtherLocalRanks ranks(listen_by_name(name), {1});
    // Its wait for the first rank's words is over at once.
    EXPECT_EQ(await_verdict(name, 1, Clock::now() + 5s, Clock::now()), std::nullopt);
    EXPECT_EQ(ranks.find_silent(Clock::now() + 100ms), (std::set<std::uint32_t>{1}));
}

TEST(VerdictSocket, NobodyWaitsLongerThanTheDeadline) {
    const std::string name = verdict_socket_name("1.1", 7, secret);
    const auto start = Clock::now();
    EXPECT_EQ(await_verdict(name, 1, start + 100ms, start + 10s), std::nullopt);
    OtherLocalRanks ranks(listen_by_name(name), {1, 2, 3, 4, 5});
    EXPECT_EQ(await_verdict(name, 1, start + 300ms, start + 300ms), std::nullopt);
    ranks.send_verdict(0, Clock::now() + 100ms);
    EXPECT_LT(Clock::now() - start, 5s);
}

// Who is not heard, as another user, may connect as often as it likes.
TEST(VerdictSocket, AnotherUserInALoopKeepsNobodyBeyondTheDeadline) {
    ASSERT_EQ(geteuid(), 0U) << "as root, which can be another user";
    const std::string name = verdict_socket_name("1.5", 7, secret);
    OtherLocalRanks ranks(listen_by_name(name), {1, 2});
    // As many as leave no moment in which nobody waits; for a time, so that the test has an end.
    std::vector<pid_t> strangers(6);
    const Deadline end = Clock::now() + 6s;
    for (pid_t& stranger : strangers) {
        stranger = fork();
        if (stranger != 0) continue;
        constexpr uid_t nobody = 65534;
        const bool is_another = setresuid(nobody, nobody, nobody) == 0;
        while (is_another && Clock::now() < end) static_cast<void>(connect_by_name(name));
        _exit(is_another ? 0 : 1);
    }
    auto one = other_rank(name, 1);
    const auto start = Clock::now();
    ranks.send_verdict(3, start + 1s);
    EXPECT_LT(Clock::now() - start, 3s);
    EXPECT_EQ(one.get(), 3);
    for (const pid_t stranger : strangers) {
        kill(stranger, SIGKILL);
        int status = 0;
        ASSERT_EQ(waitpid(stranger, &status, 0), stranger);
        EXPECT_TRUE(WIFSIGNALED(status)) << "it connected until the end";
    }
}

TEST(VerdictSocket, ANameIsOfOneNodeOfOneStep) {
    const std::string name = verdict_socket_name("1.0", 7, secret);
    EXPECT_LT(name.size(), 100U);
    EXPECT_NE(name, verdict_socket_name("1.0", 8, secret));
    EXPECT_NE(name, verdict_socket_name("1.1", 7, secret));
    EXPECT_NE(name, verdict_socket_name("1.0", 7, Secret::parse(std::string(64, '6'))));
    EXPECT_NE(name, verdict_socket_name("1.0", 7, std::nullopt));
    // The secret itself is read by everybody in /proc/net/unix.
    EXPECT_EQ(name.find("5555"), std::string::npos);
    // A second one of the name is refused.
    const Socket first = listen_by_name(name);
    EXPECT_FALSE(listen_by_name(name).is_open());
}

}  // namespace
}  // namespace distgpu
