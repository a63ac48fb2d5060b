// What tasks that may not start tell each other and the process that forked them.
#include "child_process.h"
#include "refusal.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

using std::chrono::milliseconds;

TEST(RefusalNotice, OneTaskOfTheNodeHasTheWord) {
    RefusalNotice notice;
    notice.create();
    const auto takes_it = [&] { return notice.take_word(); };
    ChildProcess first(takes_it);
    ChildProcess second(takes_it);
    EXPECT_TRUE(second.release());
    EXPECT_FALSE(first.release());
    EXPECT_FALSE(notice.is_told());
}

TEST(RefusalNotice, TheParentHearsAndTheOthersNeedNotWait) {
    RefusalNotice notice;
    notice.create();
    ChildProcess waiting([&] {
        notice.wait_until_told(milliseconds(60'000));
        return notice.is_told();
    });
    ChildProcess telling([&] {
        notice.set_told();
        return true;
    });
    EXPECT_FALSE(notice.is_told());
    EXPECT_TRUE(telling.release());
    EXPECT_TRUE(notice.is_told());
    EXPECT_TRUE(waiting.release());
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

TEST(RefusalNotice, NobodyWaitsForEver) {
    RefusalNotice notice;
    notice.create();
    notice.wait_until_told(milliseconds(50));
    EXPECT_FALSE(notice.is_told());
}

TEST(RefusalNotice, WithoutMemoryEverybodyHasTheWord) {
    RefusalNotice notice;
    EXPECT_TRUE(notice.take_word());
    EXPECT_TRUE(notice.take_word());
    notice.set_told();
    EXPECT_FALSE(notice.is_told());
}

}  // namespace
}  // namespace distgpu
