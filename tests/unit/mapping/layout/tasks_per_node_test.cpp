// Counts of tasks per node as Slurm writes them.
#include "mapping/layout/step_layout.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace distgpu {
namespace {

using Runs = std::vector<TasksRun>;

TEST(TasksPerNode, ReadsSlurmsForm) {
    struct Row {
        const char* text;
        Runs runs;
    };
    const std::vector<Row> rows = {
        {"1", {{1, 1}}},
        {"5,1(x2)", {{5, 1}, {1, 2}}},
        {"10(x2)", {{10, 2}}},
        {"2,1,2", {{2, 1}, {1, 1}, {2, 1}}},
        {"2(x2),1", {{2, 2}, {1, 1}}},
        {"4(x2),4", {{4, 2}, {4, 1}}},
        {"8(x125000)", {{8, 125000}}},
        {"127(x16777216)", {{127, 16777216}}},
        {"2147483647", {{2147483647, 1}}},
    };
    for (const auto& row : rows) {
        const auto runs = parse_tasks_per_node(row.text);
        ASSERT_TRUE(runs) << row.text;
        EXPECT_EQ(*runs, row.runs) << row.text;
    }
}

TEST(TasksPerNode, RefusesWithPlaceAndRemedy) {
    struct Row {
        std::string text;
        std::string message;
    };
    const std::string form = "; write counts such as 4(x2),1";
    const std::vector<Row> rows = {
        {"", "'' at character 1: expected a number of tasks" + form},
        {"4,", "'4,' at character 3: expected a number of tasks" + form},
        {",4", "',4' at character 1: expected a number of tasks" + form},
        {"-4", "'-4' at character 1: expected a number of tasks" + form},
        {"+4", "'+4' at character 1: expected a number of tasks" + form},
        {"4 ,1", "'4 ,1' at character 2: expected ',' or the end" + form},
        {"4(2)", "'4(2)' at character 2: expected ',' or the end" + form},
        {"4(x)", "'4(x)' at character 4: expected a number of nodes" + form},
        {"4(x2", "'4(x2' at character 5: expected ')'" + form},
        {"4(x2)1", "'4(x2)1' at character 6: expected ',' or the end" + form},
        {"1,0", "'1,0' at character 3: 0 tasks; each count must be at least 1"},
        {"4(x0)", "'4(x0)' at character 4: 0 nodes; each count must be at least 1"},
        {"2147483648", "'2147483648' at character 1: more than 2147483647 tasks; check the counts"},
        {"99999999999999999999",
         "'99999999999999999999' at character 1: more than 2147483647 tasks; check the counts"},
        {"1(x16777217)",
         "'1(x16777217)' at character 4: more than 16777216 nodes; check the counts"},
        {"1,1(x16777216)",
         "'1,1(x16777216)' at character 3: more than 16777216 nodes; check the counts after 'x'"},
        {"128(x16777216)",
         "'128(x16777216)' at character 1: more than 2147483647 tasks; check the counts"},
        // 2^32: nothing where it is counted in 32 bits.
        {"256(x16777216)",
         "'256(x16777216)' at character 1: more than 2147483647 tasks; check the counts"},
        {"2147483647,1",
         "'2147483647,1' at character 12: more than 2147483647 tasks; check the counts"},
    };
    for (const auto& row : rows) {
        const auto runs = parse_tasks_per_node(row.text);
        ASSERT_FALSE(runs) << row.text;
        EXPECT_EQ(runs.error().message(), "distgpu: tasks per node " + row.message);
    }
}

TEST(TasksPerNode, ShortensLongText) {
    std::string text;
    for (int i = 0; i < 40; ++i) text += "1,2,";
    const auto runs = parse_tasks_per_node(text + "x");
    ASSERT_FALSE(runs);
    EXPECT_EQ(runs.error().object,
              "tasks per node '...,1,2,1,2,1,2,1,2,1,2,1,2,1,2,1,2,1,2,1,2,1,2,1,2,1,2,x' "
              "at character 161");
}

}  // namespace
}  // namespace distgpu
