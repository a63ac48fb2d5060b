// Names that are looked up with an end to it.
#include "base/io/resolve.h"

#include <gtest/gtest.h>

#include <sys/wait.h>

namespace distgpu {
namespace {

Deadline in(std::chrono::milliseconds time) {
    return Clock::now() + time;
}

TEST(NameLookup, ReadsANumberWithoutAskingAnybody) {
    const Deadline past = in(std::chrono::milliseconds(-1));
    for (const std::string number : {"192.0.2.1", "2001:db8::1", "127.0.1.1"}) {
        const NameLookup found = look_up_name(number, past);
        ASSERT_EQ(found.problem, 0) << number;
        EXPECT_EQ(found.addresses.front().to_string(), number);
    }
}

TEST(NameLookup, FindsANameAndLeavesNoChildBehind) {
    const NameLookup found = look_up_name("localhost", in(std::chrono::seconds(5)));
    ASSERT_EQ(found.problem, 0);
    EXPECT_TRUE(found.addresses.front().is_loopback());
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

TEST(NameLookup, GivesUpAtTheDeadline) {
    const auto begin = Clock::now();
    NameLookup late;
    // On a busy machine the answer may be there before anybody waits for it.
    for (int tries = 0; tries < 20; ++tries) {
        late = look_up_name("localhost", in(std::chrono::milliseconds(-1)));
        if (late.is_unanswered()) break;
    }
    EXPECT_TRUE(late.is_unanswered());
    EXPECT_TRUE(late.addresses.empty());
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(1));
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

TEST(NameLookup, KnowsNothingOfNoName) {
    const NameLookup none = look_up_name("", in(std::chrono::seconds(5)));
    EXPECT_TRUE(none.is_unknown());
    EXPECT_FALSE(none.is_unanswered());
}

TEST(Address, KnowsTheLoopback) {
    const auto loopback = [](const char* host) {
        return resolve(host, 0, in(std::chrono::seconds(5)))->front().is_loopback();
    };
    EXPECT_TRUE(loopback("127.0.1.1"));
    EXPECT_TRUE(loopback("::1"));
    EXPECT_FALSE(loopback("10.127.0.1"));
    for (const char* other : {"fe80::1", "::1:0:0:1", "::1:0:1", "::2"}) {
        EXPECT_FALSE(loopback(other)) << other;
    }
    EXPECT_EQ(resolve("127.0.1.1", 0, in(std::chrono::seconds(5)))->front().to_string(),
              "127.0.1.1");
}

}  // namespace
}  // namespace distgpu
