// OMP_NUM_THREADS: the CPUs of each process.
#include "bound_node.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace distgpu::plan_testing {
namespace {

using testing::Each;
using testing::ElementsAre;

// The same CPUs for every task.
SlurmShare masks(std::uint32_t tasks, std::uint32_t cpus) {
    SlurmShare share;
    share.masks.assign(tasks, CpuSet::range(0, cpus - 1));
    return share;
}

TEST(PlanThreads, AreTheCpusOfEachProcess) {
    struct Row {
        const char* title;
        const char* spec;
        std::uint32_t tasks;
        NodeFacts node;
        const char* threads;  // "-": not set
    };
    const std::vector<Row> rows = {
        {"asked for", "pytorch", 4, {.cpus = 32, .cpus_per_task = 8, .share = masks(4, 8)}, "8"},
        {"asked for, unbound",
         "pytorch",
         2,
         {.cpus = 32, .cpus_per_task = 4, .share = masks(2, 32)},
         "4"},
        {"not asked for: the share", "pytorch", 4, {.cpus = 32, .cpus_per_task = 1}, "8"},
        {"not asked for, bound to fewer",
         "pytorch",
         4,
         {.cpus = 32, .cpus_per_task = 1, .share = masks(4, 2)},
         "2"},
        {"not asked for, all may run everywhere",
         "pytorch",
         4,
         {.cpus = 32, .cpus_per_task = 1, .share = masks(4, 32)},
         "8"},
        {"not known, more tasks than CPUs", "pytorch", 4, {.cpus = 2}, "1"},
        {"a launcher's processes share",
         "torchrun,nproc=4",
         1,
         {.cpus = 32, .cpus_per_task = 32},
         "8"},
        {"a launcher on GPUs", "composer", 1, {.gpus = 4, .cpus = 32, .cpus_per_task = 16}, "4"},
        {"more processes than CPUs", "torchrun,nproc=9", 1, {.cpus = 8}, "1"},
        {"the user's own", "pytorch", 4, {.cpus = 32, .exported = {"OMP_NUM_THREADS"}}, "-"},
        {"as they are", "pytorch,omp=keep", 4, {.cpus = 32, .cpus_per_task = 8}, "-"},
        {"in every mode", "ompi", 4, {.cpus = 32, .cpus_per_task = 8}, "8"},
    };
    for (const auto& row : rows) {
        const StepLayout step = layout("n1", {{0, 1, row.tasks, 1}});
        EXPECT_THAT(of_all(planned(row.spec, step, 0, row.node), "OMP_NUM_THREADS"),
                    Each(std::string(row.threads)))
            << row.title;
    }
}

TEST(PlanThreads, CountEachTasksOwnMask) {
    NodeFacts node{.cpus = 32, .cpus_per_task = 1};
    node.share.masks = {{0, 1}, {2, 3, 4}};
    EXPECT_THAT(
        of_all(planned("pytorch", layout("n1", {{0, 1, 2, 1}}), 0, node), "OMP_NUM_THREADS"),
        ElementsAre("2", "3"));
}

// Three tasks may use all 32 CPUs. Two of them share the 8 of their GPUs' NUMA node.
TEST(PlanThreads, FollowTheCpusThatBindingLeaves) {
    const NodeTopology topology = two_socket_node({0, 0, 3});
    NodeFacts node = bound_node(topology, everywhere(3), {0, 1, 2});
    node.cpus_per_task = 1;
    EXPECT_THAT(of_all(planned_on("pytorch", node), "OMP_NUM_THREADS"), ElementsAre("4", "4", "8"));
    EXPECT_THAT(of_all(planned_on("pytorch,cpus=keep", node), "OMP_NUM_THREADS"), Each("10"));
    // With --cpus-per-task some of the CPUs are far from the GPU.
    node.cpus_per_task = 10;
    node.share.cpus_per_task = 10;
    EXPECT_THAT(of_all(planned_on("pytorch", node), "OMP_NUM_THREADS"), Each("10"));
}

}  // namespace
}  // namespace distgpu::plan_testing
