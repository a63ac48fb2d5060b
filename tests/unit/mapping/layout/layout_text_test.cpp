// The layout of a step as people write it.
#include "mapping/layout/layout_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

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

}  // namespace
}  // namespace distgpu
