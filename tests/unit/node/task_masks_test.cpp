// The masks of a node's tasks, through the memory that they share: with real children whose
// affinity is set before they are released, as slurmstepd does it.
#include "child_process.h"
#include "node/task_facts.h"

#include <gtest/gtest.h>

#include <sched.h>
#include <vector>

namespace distgpu {
namespace {

// A CPU for each of two tasks: different ones where this process may use several.
std::vector<CpuSet> two_masks() {
    KernelCpuSet own{};
    EXPECT_TRUE(read_affinity(0, own));
    const auto cpus = CpuSet::from_words(own).cpus();
    return {{cpus.back()}, {cpus.front()}};
}

void bind_task(pid_t task, const CpuSet& cpus) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const std::uint32_t cpu : cpus.cpus()) CPU_SET(cpu, &set);
    ASSERT_EQ(sched_setaffinity(task, sizeof set, &set), 0);
}

TEST(TaskMasks, EveryTaskFindsThoseOfAll) {
    const std::vector<CpuSet> expected = two_masks();
    TaskMasks masks;
    masks.create(2);
    const auto sees_all = [&] { return masks.read() == expected; };
    ChildProcess first(sees_all);
    ChildProcess second(sees_all);
    bind_task(first.pid(), expected[0]);
    masks.record(0, first.pid());
    bind_task(second.pid(), expected[1]);
    masks.record(1, second.pid());
    EXPECT_TRUE(first.release());
    EXPECT_TRUE(second.release());
    EXPECT_EQ(masks.read(), expected);
}

TEST(TaskMasks, AreNotKnownWhereOneIsMissing) {
    ChildProcess gone([] { return true; });
    const pid_t ended = gone.pid();
    ASSERT_TRUE(gone.release());
    for (const std::size_t recorded : {0U, 1U}) {
        TaskMasks masks;
        masks.create(2);
        EXPECT_EQ(masks.read(), std::vector<CpuSet>{});
        masks.record(recorded, getpid());
        EXPECT_EQ(masks.read(), std::vector<CpuSet>{}) << recorded;
        masks.record(1 - recorded, ended);
        EXPECT_EQ(masks.read(), std::vector<CpuSet>{}) << recorded;
        masks.record(1 - recorded, getpid());
        EXPECT_EQ(masks.read().size(), 2U) << recorded;
    }
}

// A local rank that Slurm did not announce.
TEST(TaskMasks, PastTheLastAreIgnored) {
    TaskMasks masks;
    masks.create(1);
    masks.record(1, getpid());
    masks.record(SIZE_MAX, getpid());
    EXPECT_EQ(masks.read(), std::vector<CpuSet>{});
    masks.record(0, getpid());
    EXPECT_EQ(masks.read().size(), 1U);
}

TEST(TaskMasks, AreNotKnownWithoutMemory) {
    TaskMasks masks;
    masks.record(0, getpid());
    EXPECT_EQ(masks.read(), std::vector<CpuSet>{});
    // More than the address space.
    masks.create(SIZE_MAX / sizeof(KernelCpuSet));
    masks.record(0, getpid());
    EXPECT_EQ(masks.read(), std::vector<CpuSet>{});
}

}  // namespace
}  // namespace distgpu
