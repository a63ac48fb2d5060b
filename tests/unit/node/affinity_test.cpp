// CPU masks of real processes, against what the C library says of them.
#include "node/affinity.h"

#include "child_process.h"

#include <gtest/gtest.h>

#include <sched.h>

namespace distgpu {
namespace {

CpuSet allowed_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    CpuSet cpus;
    for (std::uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &set)) cpus.add(cpu);
    }
    return cpus;
}

TEST(Affinity, IsRead) {
    KernelCpuSet cpus;
    cpus.fill(~CpuSet::Word{0});
    ASSERT_TRUE(read_affinity(0, cpus));
    EXPECT_EQ(CpuSet::from_words(cpus), allowed_cpus());
    ASSERT_TRUE(read_affinity(getpid(), cpus));
    EXPECT_EQ(CpuSet::from_words(cpus), allowed_cpus());
}

TEST(Affinity, OfNoProcessIsNotRead) {
    ChildProcess child([] { return true; });
    const pid_t ended = child.pid();
    ASSERT_TRUE(child.release());
    KernelCpuSet cpus{};
    EXPECT_FALSE(read_affinity(ended, cpus));
}

TEST(Affinity, IsSetForThisProcess) {
    const CpuSet last{allowed_cpus().cpus().back()};
    ChildProcess child([&last] { return set_affinity(last) && allowed_cpus() == last; });
    EXPECT_TRUE(child.release());
}

TEST(Affinity, ThatTheMachineLacksIsRefused) {
    const auto refused = [](const CpuSet& cpus) {
        ChildProcess child([&cpus] { return !set_affinity(cpus); });
        return child.release();
    };
    EXPECT_TRUE(refused({CpuSet::cpu_limit - 1}));
    // The kernel would take the part that it knows.
    EXPECT_TRUE(refused({CpuSet::cpu_limit, allowed_cpus().cpus().front()}));
}

}  // namespace
}  // namespace distgpu
