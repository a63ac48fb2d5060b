// Which task and which node tells the user why a step is refused.
#include "refusal.h"

#include "child_process.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace distgpu {
namespace {

using std::chrono::milliseconds;

TEST(RefusalNotice, OneTaskOfTheNodeHasTheWord) {
    RefusalNotice notice;
    notice.create();
    const auto takes_it = [&] { return notice.claim_reporter(); };
    ChildProcess first(takes_it);
    ChildProcess second(takes_it);
    EXPECT_TRUE(second.release());
    EXPECT_FALSE(first.release());
    EXPECT_FALSE(notice.is_reported());
}

TEST(RefusalNotice, TheParentHearsAndTheOthersNeedNotWait) {
    RefusalNotice notice;
    notice.create();
    ChildProcess waiting([&] {
        notice.wait_until_reported(milliseconds(60'000));
        return notice.is_reported();
    });
    ChildProcess telling([&] {
        notice.set_reported();
        return true;
    });
    EXPECT_FALSE(notice.is_reported());
    EXPECT_TRUE(telling.release());
    EXPECT_TRUE(notice.is_reported());
    EXPECT_TRUE(waiting.release());
}

TEST(RefusalNotice, TheParentHearsThatNoProgramRan) {
    RefusalNotice notice;
    EXPECT_FALSE(notice.is_refused());
    notice.create();
    ChildProcess refusing([&] {
        notice.set_refused();
        return true;
    });
    EXPECT_FALSE(notice.is_refused());
    EXPECT_TRUE(refusing.release());
    EXPECT_TRUE(notice.is_refused());
}

TEST(RefusalNotice, ATaskHearsThatAllAreForked) {
    RefusalNotice notice;
    notice.create();
    ChildProcess waiting([&] {
        const auto begin = std::chrono::steady_clock::now();
        notice.wait_until_forked(milliseconds(60'000));
        return std::chrono::steady_clock::now() - begin < milliseconds(30'000);
    });
    notice.set_forked();
    EXPECT_TRUE(waiting.release());
    RefusalNotice without_memory;
    without_memory.wait_until_forked(milliseconds(60'000));
}

// Nobody waits for ever, and without memory everybody has the word.
TEST(RefusalNotice, HoldsNobodyUp) {
    RefusalNotice silent;
    silent.create();
    silent.wait_until_reported(milliseconds(50));
    EXPECT_FALSE(silent.is_reported());
    RefusalNotice notice;
    EXPECT_TRUE(notice.claim_reporter());
    EXPECT_TRUE(notice.claim_reporter());
    notice.set_reported();
    EXPECT_FALSE(notice.is_reported());
}

// ---- How many of the nodes that refuse a step are heard before the first of them has ended it.

// Those of the refusing nodes whose turn comes within `ending` of the first.
std::size_t heard(const std::vector<std::uint32_t>& refusing, std::uint32_t nodes,
                  milliseconds ending) {
    std::vector<milliseconds> turns;
    for (const std::uint32_t node : refusing) turns.push_back(refusal_delay(node, nodes));
    const milliseconds first = *std::min_element(turns.begin(), turns.end());
    return static_cast<std::size_t>(std::count_if(
        turns.begin(), turns.end(), [&](milliseconds turn) { return turn <= first + ending; }));
}

// From `first`, every `stride`th, `count` of them.
std::vector<std::uint32_t> nodes_from(std::uint32_t first, std::uint32_t stride,
                                      std::uint32_t count) {
    std::vector<std::uint32_t> nodes;
    for (std::uint32_t i = 0; i < count; ++i) nodes.push_back(first + i * stride);
    return nodes;
}

milliseconds last_turn(std::uint32_t nodes) {
    milliseconds last{};
    for (std::uint32_t node = 0; node < nodes; ++node) {
        last = std::max(last, refusal_delay(node, nodes));
    }
    return last;
}

TEST(RefusalTurn, TheFirstNodeIsFirstAndTheLastDoesNotWaitLong) {
    for (const std::uint32_t nodes : {1U, 2U, 3U, 16U, 1000U, 10'000U}) {
        EXPECT_EQ(refusal_delay(0, nodes), milliseconds(1000)) << nodes;
        EXPECT_EQ(heard(nodes_from(0, 1, nodes), nodes, milliseconds(300)), 1U) << nodes;
    }
    EXPECT_LE(last_turn(16), milliseconds(3000));
    EXPECT_LE(last_turn(1000), milliseconds(6000));
    EXPECT_LE(last_turn(10'000), milliseconds(8000));
}

TEST(RefusalTurn, FewAreHeardWhicheverRefuse) {
    EXPECT_LE(heard(nodes_from(0, 1, 16), 16, milliseconds(999)), 3U);
    constexpr std::uint32_t nodes = 10'000;
    constexpr milliseconds ending{500};
    EXPECT_LE(heard(nodes_from(0, 1, nodes), nodes, ending), 3U);
    for (const std::uint32_t rack : {0U, 40U, 4000U, 9960U}) {
        EXPECT_LE(heard(nodes_from(rack, 1, 40), nodes, ending), 4U) << rack;
    }
    EXPECT_LE(heard(nodes_from(5000, 1, 5000), nodes, ending), 4U);
    for (const std::uint32_t stride : {2U, 4U, 8U, 16U}) {
        EXPECT_LE(heard(nodes_from(1, stride, nodes / stride), nodes, ending), 4U) << stride;
    }
}

}  // namespace
}  // namespace distgpu
