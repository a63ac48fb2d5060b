// Kills for lack of memory, in folders such as those of both versions of control groups.
#include "node/out_of_memory.h"

#include "made_up_folder.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

constexpr const char* own_v1 =
    "9:name=systemd:/system.slice/slurmd.service\n"
    "5:memory:/slurm/uid_1000/job_7/step_0\n"
    "4:cpuset:/slurm/uid_1000/job_7/step_0\n"
    "0::/system.slice/slurmd.service\n";
constexpr const char* step_v1 = "memory/slurm/uid_1000/job_7/step_0/";
constexpr const char* own_v2 = "0::/system.slice/slurmstepd.scope/job_7/step_0/slurm\n";
constexpr const char* step_v2 = "system.slice/slurmstepd.scope/job_7/step_0/";

// In version 1 the kernel counts in the task's group, in 2 in those above it too.
TEST(OutOfMemory, ShowsTheGroupsLimitAndPeak) {
    const MadeUpFolder root;
    const std::string v1 = step_v1;
    root.write(v1 + "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
    root.write(v1 + "memory.limit_in_bytes", "34359738368\n");
    root.write(v1 + "memory.max_usage_in_bytes", "34252364185\n");
    EXPECT_EQ(out_of_memory_text(own_v1, root.path()), "");
    root.write(v1 + "task_3/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
    EXPECT_EQ(out_of_memory_text(own_v1, root.path()), "out of memory (31.9 of 32.0 GiB)");

    const std::string v2 = step_v2;
    root.write(v2 + "memory.events", "low 0\nhigh 0\nmax 9\noom 1\noom_kill 2\n");
    root.write(v2 + "memory.max", "1073741824\n");
    root.write(v2 + "memory.peak", "1073741824\n");
    EXPECT_EQ(out_of_memory_text(own_v2, root.path()), "out of memory (1.0 of 1.0 GiB)");
}

TEST(OutOfMemory, ShowsNoLimitThatIsNotTheSteps) {
    const MadeUpFolder root;
    const std::string v1 = step_v1;
    root.write(v1 + "memory.oom_control", "oom_kill 1\n");
    root.write(v1 + "memory.limit_in_bytes", "9223372036854771712\n");
    root.write(v1 + "memory.max_usage_in_bytes", "1073741824\n");
    EXPECT_EQ(out_of_memory_text(own_v1, root.path()), "out of memory");
    const std::string v2 = step_v2;
    root.write(v2 + "memory.events", "oom_kill 1\n");
    root.write(v2 + "memory.max", "max\n");
    EXPECT_EQ(out_of_memory_text(own_v2, root.path()), "out of memory");
}

TEST(OutOfMemory, IsFoundWhereTheHierarchyBeginsFurtherBelow) {
    const MadeUpFolder root;
    root.write("memory/job_7/step_0/memory.oom_control", "oom_kill 1\n");
    EXPECT_EQ(out_of_memory_text(own_v1, root.path()), "out of memory");
}

TEST(OutOfMemory, IsUnknownWithoutAGroupOfTheStep) {
    const MadeUpFolder root;
    EXPECT_EQ(out_of_memory_text("", root.path()), "");
    EXPECT_EQ(out_of_memory_text("5:memory:/user.slice\n0::/step_\n", root.path()), "");
    EXPECT_EQ(out_of_memory_text(own_v1, root.path()), "");
}

}  // namespace
}  // namespace distgpu
