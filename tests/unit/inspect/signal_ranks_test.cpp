// Which signals and ranks a user can name, and which processes have a handler.
#include "inspect/signal_ranks.h"

#include "base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace distgpu {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(FindSignal, TakesTheNameWithAndWithoutItsBeginning) {
    for (const char* const name : {"USR2", "SIGUSR2"}) {
        const auto signal = find_signal(name);
        ASSERT_TRUE(signal);
        EXPECT_EQ(signal->number, SIGUSR2);
        EXPECT_EQ(signal->name, "SIGUSR2");
        EXPECT_TRUE(signal->needs_handler);
    }
    EXPECT_FALSE(find_signal("CONT")->needs_handler);
    for (const char* const name : {"", "SIG", "KILL", "STOP", "10", "usr2", "SIGSIGUSR2"}) {
        EXPECT_FALSE(find_signal(name)) << name;
    }
}

TEST(RankList, IsNumbersAndRanges) {
    const auto list = RankList::parse("0-3,8");
    ASSERT_TRUE(list);
    for (const std::uint32_t rank : {0U, 3U, 8U}) EXPECT_TRUE(list->contains(rank));
    for (const std::uint32_t rank : {4U, 7U, 9U}) EXPECT_FALSE(list->contains(rank));
    EXPECT_TRUE(RankList().contains(7));
    for (const char* const text : {"", ",", "1,", "3-1", "-1", "1-", "1-2-3", "x", "4294967296"}) {
        EXPECT_FALSE(RankList::parse(text)) << text;
    }
}

TEST(RankList, NamesRanksThatWereNotFoundButNotBillions) {
    EXPECT_THAT(RankList::parse("1-3,8")->without({1, 2, 5}), ElementsAre(3, 8));
    EXPECT_THAT(RankList().without({1}), IsEmpty());
    EXPECT_EQ(RankList::parse("0-4294967295")->without({0}).size(), 65'536U);
}

// proc(5): bit 0 of the mask is signal 1.
TEST(HasHandler, IsABitOfTheMaskOfCaughtSignals) {
    const std::string status =
        "Name:\tpython3\nSigIgn:\t0000000000000a00\nSigCgt:\t0000000180000002\nCapInh:\t0\n";
    EXPECT_TRUE(has_handler(status, SIGINT));
    EXPECT_FALSE(has_handler(status, SIGUSR1));  // ignored
    EXPECT_FALSE(has_handler(status, SIGTERM));
    EXPECT_TRUE(has_handler("SigCgt:\t0000000000000800\n", SIGUSR2));
    EXPECT_FALSE(has_handler("", SIGINT));
}

TEST(SignalledNode, IsSentAsJson) {
    const auto read = read_signalled_node(to_json(SignalledNode{{0, 2}, {1}, {3}, "why"}).line());
    ASSERT_TRUE(read);
    EXPECT_THAT(read->sent, ElementsAre(0, 2));
    EXPECT_THAT(read->without_handler, ElementsAre(1));
    EXPECT_THAT(read->ended, ElementsAre(3));
    EXPECT_EQ(read->problem, "why");
    EXPECT_FALSE(read_signalled_node("{}"));
}

}  // namespace
}  // namespace distgpu
