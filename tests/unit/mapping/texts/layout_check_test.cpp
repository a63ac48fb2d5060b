// A layout against what Slurm started on this node.
#include "mapping/texts/layout_check.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace distgpu {
namespace {

using Tasks = std::vector<TaskId>;

StepLayout layout(std::vector<TaskMapBlock> map) {
    return *StepLayout::from_task_map(*HostList::parse("n[1-3]"), std::move(map));
}

// 5,1,1 tasks, block: 0-4 on n1, 5 on n2, 6 on n3.
StepLayout block() {
    return layout({{0, 1, 5, 1}, {1, 2, 1, 1}});
}

// 5,1,1 tasks, cyclic: 0 and 3-6 on n1, 1 on n2, 2 on n3.
StepLayout cyclic() {
    return layout({{0, 3, 1, 1}, {0, 1, 4, 1}});
}

// 3 rounds of 2 on each of 3 nodes.
StepLayout plane() {
    return layout({{0, 3, 2, 3}});
}

TEST(LayoutCheck, TheSizeIsThatOfTheStep) {
    EXPECT_EQ(check_size(block(), {3, 7}), std::nullopt);
    const auto message = [](StepSize started) {
        const auto error = check_size(block(), started);
        return error ? error->message() : "";
    };
    EXPECT_EQ(message({4, 7}),
              "distgpu: task map: 7 tasks on 3 nodes, but Slurm started 7 on 4; run again without "
              "SLURM_DISTGPU_STEP");
    EXPECT_EQ(message({3, 8}),
              "distgpu: task map: 7 tasks on 3 nodes, but Slurm started 8 on 3; run again without "
              "SLURM_DISTGPU_STEP");
}

TEST(LayoutCheck, AcceptsWhatSlurmStarted) {
    struct Row {
        const char* title;
        StepLayout layout;
        LocalTasks started;
    };
    const std::vector<Row> rows = {
        {"block, the first node", block(), {{0}, {{0}, {1}, {2}, {3}, {4}}}},
        {"block, the last node", block(), {{2}, {{6}}}},
        {"cyclic, two blocks of the map", cyclic(), {{0}, {{0}, {3}, {4}, {5}, {6}}}},
        {"cyclic, one block", cyclic(), {{1}, {{1}}}},
        {"plane, the second node", plane(), {{1}, {{2}, {3}, {8}, {9}, {14}, {15}}}},
    };
    for (const auto& row : rows) {
        EXPECT_EQ(check_layout(row.layout, row.started), std::nullopt) << row.title;
    }
}

TEST(LayoutCheck, RefusesEverythingElse) {
    struct Row {
        const char* title;
        StepLayout layout;
        LocalTasks started;
        std::string problem;
    };
    const std::vector<Row> rows = {
        {"a node past the end",
         block(),
         {{3}, {{0}}},
         "3 nodes, but Slurm started a task on node number 3"},
        {"a node far past the end",
         block(),
         {{UINT32_MAX}, {{0}}},
         "3 nodes, but Slurm started a task on node number 4294967295"},
        {"fewer tasks", block(), {{0}, {{0}, {1}, {2}, {3}}}, "5 tasks on n1, but Slurm started 4"},
        {"more tasks", block(), {{1}, {{5}, {6}}}, "1 tasks on n2, but Slurm started 2"},
        {"no task", block(), {{2}, {}}, "1 tasks on n3, but Slurm started 0"},
        {"another task",
         block(),
         {{1}, {{6}}},
         "task 5 has local rank 0 on n2, but Slurm started task 6"},
        {"swapped tasks",
         block(),
         {{0}, {{0}, {2}, {1}, {3}, {4}}},
         "task 1 has local rank 1 on n1, but Slurm started task 2"},
        {"block where Slurm dealt cyclic",
         block(),
         {{0}, {{0}, {3}, {4}, {5}, {6}}},
         "task 1 has local rank 1 on n1, but Slurm started task 3"},
        {"cyclic where Slurm dealt block",
         cyclic(),
         {{0}, {{0}, {1}, {2}, {3}, {4}}},
         "task 3 has local rank 1 on n1, but Slurm started task 1"},
        {"the last task of the last round",
         plane(),
         {{1}, {{2}, {3}, {8}, {9}, {14}, {16}}},
         "task 15 has local rank 5 on n2, but Slurm started task 16"},
    };
    for (const auto& row : rows) {
        const auto refusal = check_layout(row.layout, row.started);
        ASSERT_TRUE(refusal) << row.title;
        EXPECT_EQ(refusal->message(),
                  "distgpu: task map: " + row.problem + "; run again without SLURM_DISTGPU_STEP")
            << row.title;
    }
}

}  // namespace
}  // namespace distgpu
