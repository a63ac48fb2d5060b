// The verdict from a node's first rank to its others.
#include "check/agreement.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>
#include <vector>

namespace distgpu {
namespace {

using namespace std::chrono_literals;

const auto secret = Secret::parse(std::string(64, '5'));

TEST(Agreement, EveryOtherRankHearsTheVerdict) {
    const std::string name = agreement_name("1.0", 7, secret);
    std::vector<std::future<std::optional<int>>> others;
    // Two that come before the first rank listens, one after it has told.
    for (int i = 0; i < 2; ++i) {
        others.push_back(std::async(std::launch::async, [&] {
            return await_verdict(name, Clock::now() + 5s, Clock::now() + 10s);
        }));
    }
    const Socket ear = listen_for_agreement(name);
    ASSERT_TRUE(ear.is_open());
    auto last = std::async(std::launch::async, [&] {
        std::this_thread::sleep_for(100ms);
        return await_verdict(name, Clock::now() + 5s, Clock::now() + 10s);
    });
    announce_verdict(ear, 3, 4, Clock::now() + 10s);
    for (auto& other : others) EXPECT_EQ(other.get(), 4);
    EXPECT_EQ(last.get(), 4);
}

TEST(Agreement, NobodyWaitsLongerThanTheDeadline) {
    const std::string name = agreement_name("1.1", 7, secret);
    const auto start = Clock::now();
    EXPECT_EQ(await_verdict(name, start + 100ms, start + 10s), std::nullopt);
    const Socket ear = listen_for_agreement(name);
    EXPECT_EQ(await_verdict(name, start + 300ms, start + 300ms), std::nullopt);
    announce_verdict(ear, 5, 0, Clock::now() + 100ms);
    EXPECT_LT(Clock::now() - start, 5s);
}

TEST(Agreement, ANameIsOfOneNodeOfOneStep) {
    const std::string name = agreement_name("1.0", 7, secret);
    EXPECT_LT(name.size(), 100U);
    EXPECT_NE(name, agreement_name("1.0", 8, secret));
    EXPECT_NE(name, agreement_name("1.1", 7, secret));
    EXPECT_NE(name, agreement_name("1.0", 7, Secret::parse(std::string(64, '6'))));
    EXPECT_NE(name, agreement_name("1.0", 7, std::nullopt));
    // The secret itself is read by everybody in /proc/net/unix.
    EXPECT_EQ(name.find("5555"), std::string::npos);
    // A second one of the name is refused.
    const Socket first = listen_for_agreement(name);
    EXPECT_FALSE(listen_for_agreement(name).is_open());
}

}  // namespace
}  // namespace distgpu
