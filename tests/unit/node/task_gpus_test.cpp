// The GPUs of a node's tasks, through the memory that they share: with real children, each of which
// tells its own and waits for the others.
#include "child_process.h"
#include "node/task_facts.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

using Lists = std::vector<std::vector<std::uint32_t>>;
using namespace std::chrono_literals;

TEST(TaskGpus, EveryTaskLearnsThoseOfAll) {
    const Lists expected{{3, 1}, {0}};
    TaskGpus gpus;
    gpus.create(2);
    const auto task = [&](std::uint32_t rank) {
        return [&gpus, &expected, rank] {
            gpus.tell(LocalRank{rank}, expected[rank]);
            return gpus.of_all(10s) == expected;
        };
    };
    ChildProcess first(task(0));
    ChildProcess second(task(1));
    // Each is waited for here; so the second must not need the first to be released.
    gpus.tell(LocalRank{1}, expected[1]);
    EXPECT_TRUE(first.release());
    EXPECT_TRUE(second.release());
}

TEST(TaskGpus, AreNotKnownWhereOneIsSilentOrDoesNotKnow) {
    TaskGpus gpus;
    gpus.create(2);
    gpus.tell(LocalRank{0}, {1});
    EXPECT_EQ(gpus.of_all(5ms), std::nullopt);
    gpus.tell(LocalRank{1}, {});
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(gpus.of_all(10s), std::nullopt);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
    gpus.tell(LocalRank{1}, std::vector<std::uint32_t>(129));
    EXPECT_EQ(gpus.of_all(10s), std::nullopt);
    gpus.tell(LocalRank{1}, std::vector<std::uint32_t>(128));
    EXPECT_EQ(gpus.of_all(10s)->at(1).size(), 128U);
}

// A local rank that Slurm did not announce.
TEST(TaskGpus, PastTheLastAreIgnored) {
    TaskGpus gpus;
    gpus.create(1);
    gpus.tell(LocalRank{1}, {7});
    gpus.tell(LocalRank{UINT32_MAX}, {7});
    gpus.tell(LocalRank{0}, {2});
    EXPECT_EQ(gpus.of_all(0s), Lists{{2}});
}

TEST(TaskGpus, AreNotKnownWithoutMemory) {
    TaskGpus gpus;
    gpus.tell(LocalRank{0}, {0});
    EXPECT_EQ(gpus.of_all(10s), std::nullopt);
    gpus.create(SIZE_MAX / 8);
    gpus.tell(LocalRank{0}, {0});
    EXPECT_EQ(gpus.of_all(10s), std::nullopt);
}

}  // namespace
}  // namespace distgpu
