// Names that are looked up with an end to it.
#include "base/io/name_lookup.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <sys/wait.h>

namespace distgpu {
namespace {

using Outcome = NameLookup::Outcome;

Deadline in(std::chrono::milliseconds time) {
    return Clock::now() + time;
}

TEST(NameLookup, ReadsANumberWithoutAskingAnybody) {
    const Deadline past = in(std::chrono::milliseconds(-1));
    for (const std::string number : {"192.0.2.1", "2001:db8::1", "127.0.1.1"}) {
        const NameLookup found = look_up_name(number, past);
        ASSERT_EQ(found.outcome, Outcome::found) << number;
        EXPECT_EQ(found.addresses.front().to_string(), number);
    }
}

TEST(NameLookup, FindsANameAndLeavesNoChildBehind) {
    const NameLookup found = look_up_name("localhost", in(std::chrono::seconds(5)));
    ASSERT_EQ(found.outcome, Outcome::found);
    EXPECT_TRUE(found.addresses.front().is_loopback());
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

TEST(NameLookup, GivesUpAtTheDeadline) {
    const auto begin = Clock::now();
    const NameLookup late = look_up_name("localhost", in(std::chrono::milliseconds(-1)));
    EXPECT_EQ(late.outcome, Outcome::unanswered);
    EXPECT_TRUE(late.addresses.empty());
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(1));
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

TEST(NameLookup, KnowsNothingOfNoName) {
    EXPECT_EQ(look_up_name("", in(std::chrono::seconds(5))).outcome, Outcome::unknown);
}

}  // namespace
}  // namespace distgpu
