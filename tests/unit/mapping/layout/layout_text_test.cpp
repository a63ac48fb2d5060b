// The layout of a step as people write it, and the counts of tasks as Slurm does.
#include "mapping/layout/layout_text.h"

#include "base/format.h"
#include "mapping/message_of.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

// "n1:0,1 n2:2": the tasks of each node; of an error its message.
std::string written(const LayoutText& text) {
    const auto layout = parse_layout(text);
    if (!layout) return layout.error().message();
    std::string result;
    for (std::uint32_t i = 0; i < layout->node_count(); ++i) {
        result += (i == 0 ? "" : " ") + layout->hosts().name(NodeIndex{i}) + ":";
        std::string separator;
        for (const TaskId task : layout->task_ids(NodeIndex{i})) {
            result += separator + std::to_string(task.value);
            separator = ",";
        }
    }
    return result;
}

TEST(LayoutText, NodesAreAListOrACount) {
    EXPECT_EQ(written({.nodelist = "n[1-2]"}), "n1:0 n2:1");
    EXPECT_EQ(written({.nodes = "2"}), "node1:0 node2:1");
    EXPECT_EQ(written({}),
              "distgpu: the step: no nodes are given; give --nodes N or --nodelist NODES");
    EXPECT_EQ(written({.nodelist = "n1", .nodes = "1"}),
              "distgpu: --nodes 1: given together with --nodelist, which already counts them; see "
              "distgpu plan "
              "--help");
    EXPECT_EQ(written({.nodes = "0"}),
              "distgpu: --nodes 0: not a number from 1 to 16777216; see distgpu plan --help");
}

TEST(LayoutText, TasksAreCountedForEachNodeOrTogether) {
    EXPECT_EQ(written({.nodes = "2", .tasks_per_node = "2"}), "node1:0,1 node2:2,3");
    EXPECT_EQ(written({.nodes = "3", .tasks_per_node = "2(x2),1"}), "node1:0,1 node2:2,3 node3:4");
    EXPECT_EQ(written({.nodes = "3", .ntasks = "5"}), "node1:0,1 node2:2,3 node3:4");
    EXPECT_EQ(written({.nodes = "2", .ntasks = "4"}), "node1:0,1 node2:2,3");
    EXPECT_EQ(written({.nodes = "2", .ntasks = "1"}),
              "distgpu: --ntasks 1: fewer than the 2 nodes; see distgpu plan --help");
    EXPECT_EQ(written({.nodes = "2", .ntasks = "2", .tasks_per_node = "1"}),
              "distgpu: --ntasks 2: given together with the tasks of each node, which already "
              "count them; see distgpu plan --help");
    // One for each, then the rest of the first plane.
    EXPECT_EQ(written({.nodes = "2", .ntasks = "4", .distribution = "plane=3"}),
              "node1:0,1,2 node2:3");
    EXPECT_EQ(written({.nodes = "2", .ntasks = "5", .distribution = "plane=3"}),
              "node1:0,1,2 node2:3,4");
    EXPECT_EQ(written({.nodes = "2", .ntasks = "3", .distribution = "plane=3"}),
              "node1:0,1 node2:2");
    // Two for each, then two for the first.
    EXPECT_EQ(written({.nodes = "2", .ntasks = "6", .distribution = "plane=2"}),
              "node1:0,1,4,5 node2:2,3");
    // "2,1" is a list, which has to be as long as that of the nodes.
    EXPECT_NE(written({.nodes = "3", .tasks_per_node = "2,1"}).find("distgpu: "),
              std::string::npos);
}

TEST(LayoutText, DistributionsAreSlurms) {
    LayoutText text{.nodes = "2", .ntasks = "4"};
    text.distribution = "block";
    EXPECT_EQ(written(text), "node1:0,1 node2:2,3");
    text.distribution = "cyclic";
    EXPECT_EQ(written(text), "node1:0,2 node2:1,3");
    text.distribution = "plane=1";
    EXPECT_EQ(written(text), "node1:0,2 node2:1,3");
    text.distribution = "arbitrary=node2,node1,node2";
    EXPECT_EQ(written(text), "node1:1 node2:0,2");
    text.distribution = "arbitrary=node2,node3";
    EXPECT_EQ(written(text),
              "distgpu: --distribution arbitrary=node2,node3: node3 is not a node of the step; see "
              "distgpu plan --help");
    text.distribution = "plane=0";
    EXPECT_EQ(written(text),
              "distgpu: --distribution plane=0: not a number from 1 to 2147483647; "
              "see distgpu plan --help");
    text.distribution = "spiral";
    EXPECT_EQ(written(text),
              "distgpu: --distribution spiral: not block, cyclic, plane=N or "
              "arbitrary=NODE,...; see distgpu plan --help");
}

using Runs = std::vector<TasksRun>;

TEST(TasksPerNode, ReadsSlurmsForm) {
    EXPECT_EQ(*parse_tasks_per_node("1"), (Runs{{1, 1}}));
    EXPECT_EQ(*parse_tasks_per_node("5,1(x2)"), (Runs{{5, 1}, {1, 2}}));
    EXPECT_EQ(*parse_tasks_per_node("10(x2)"), (Runs{{10, 2}}));
    EXPECT_EQ(*parse_tasks_per_node("2,1,2"), (Runs{{2, 1}, {1, 1}, {2, 1}}));
    EXPECT_EQ(*parse_tasks_per_node("2(x2),1"), (Runs{{2, 2}, {1, 1}}));
    EXPECT_EQ(*parse_tasks_per_node("4(x2),4"), (Runs{{4, 2}, {4, 1}}));
    EXPECT_EQ(*parse_tasks_per_node("127(x16777216)"), (Runs{{127, 16777216}}));
    EXPECT_EQ(*parse_tasks_per_node("2147483647"), (Runs{{2147483647, 1}}));
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
        // A long text is shortened around the place.
        {std::string(80, '1').append(80, ','),
         formatted("'{}...' at character 1: more than 2147483647 tasks; check the counts",
                   std::string(54, '1'))},
    };
    for (const auto& row : rows) {
        EXPECT_EQ(message_of(parse_tasks_per_node(row.text)),
                  "distgpu: tasks per node " + row.message);
    }
}

}  // namespace
}  // namespace distgpu
