// The GPUs of a step's nodes, as the options of `distgpu plan` and of srun give them.
#include "plan/shape.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

NodeTopology with_gpus(std::size_t count) {
    NodeTopology topology;
    topology.gpus.resize(count);
    return topology;
}

// On so many nodes, each with four GPUs.
Result<Shape> shape_on(const char* nodes, ShapeOptions options) {
    options.layout.nodes = nodes;
    return Shape::make(options, *parse_layout(options.layout), {with_gpus(4), {}});
}

// The first node's GPUs, and what the plan leaves out.
std::string gpus_on(const char* nodes, ShapeOptions options) {
    const auto shape = shape_on(nodes, std::move(options));
    if (!shape) return shape.error().message();
    std::string text;
    for (const std::string& gpu : shape->facts(NodeIndex{0}).gpu_names.names) text += gpu;
    return shape->left_out() ? text + " " + shape->left_out()->message() : text;
}

TEST(Shape, ACountOfGpusIsThatOfAllNodes) {
    EXPECT_EQ(gpus_on("1", {.gpus = "2"}), "01");
    EXPECT_EQ(gpus_on("1", {.gpus = "h100:3"}), "012");
    EXPECT_EQ(gpus_on("1", {.gpus = "0"}), "");
    EXPECT_EQ(gpus_on("2", {.gpus = "4"}),
              "01 distgpu: --gpus=4: divided evenly here, but Slurm may give the nodes different "
              "numbers; use --gpus-per-node=2");
    EXPECT_EQ(gpus_on("2", {.gpus = "8"}), "0123");
}

// The plan has all of each node's, for want of their number.
TEST(Shape, ACountThatDoesNotDivideIsLeftOut) {
    for (const char* uneven : {"3", "1"}) {
        EXPECT_EQ(gpus_on("2", {.gpus = uneven}),
                  std::string("0123 distgpu: --gpus=") + uneven +
                      ": not in this plan, which needs each node's GPUs; use --gpus-per-node=N or "
                      "--gres=gpu:N");
    }
    EXPECT_EQ(gpus_on("2", {.gpus = "a100:2,h100:2"}).substr(0, 43),
              "0123 distgpu: --gpus=a100:2,h100:2: not in ");
}

TEST(Shape, ACountBesideTheGpusOfEachNode) {
    EXPECT_EQ(gpus_on("2", {.gpus_per_node = "gpu:2", .gpus = "4"}), "01");
    EXPECT_EQ(
        gpus_on("2", {.gpus_per_node = "gpu:2", .gpus = "6"}),
        "01 distgpu: --gpus=6: not in this plan, which follows --gres gpu:2; leave one of the "
        "two out");
}

TEST(Shape, GpusOfEachNode) {
    EXPECT_EQ(gpus_on("2", {.gpus_per_node = "3"}), "012");
    EXPECT_EQ(gpus_on("2", {.gpus_per_node = "gpu:h100:2"}), "01");
    EXPECT_EQ(gpus_on("2", {.gpus_per_node = "gpu"}), "0");
    EXPECT_EQ(gpus_on("2", {}), "0123");
}

TEST(Shape, AListIsNoCount) {
    for (const char* list : {"0-3", "0,1", "2,3"}) {
        EXPECT_EQ(gpus_on("1", {.gpus = list}),
                  std::string("distgpu: --gpus=") + list +
                      ": not a number of GPUs, such as 4 or h100:4; for these GPUs of each node, "
                      "use distgpu plan --gpu-list=" +
                      list);
    }
    EXPECT_EQ(gpus_on("1", {.gpus = "four"}),
              "distgpu: --gpus=four: not a number of GPUs, such as 4 or h100:4; see distgpu plan "
              "--help");
    EXPECT_EQ(gpus_on("2", {.gpu_list = "1,3"}), "13");
}

// Each by the name under which it was written.
TEST(Shape, MoreGpusThanANodeHas) {
    const std::string end = ": the node has 4 GPUs, numbered from 0; see distgpu plan --help";
    EXPECT_EQ(gpus_on("1", {.gpus = "5"}), "distgpu: --gpus=5" + end);
    EXPECT_EQ(gpus_on("1", {.gpu_list = "2,4"}), "distgpu: --gpu-list 2,4" + end);
    EXPECT_EQ(gpus_on("1", {.gpus_per_node = "5"}), "distgpu: --gpus-per-node 5" + end);
    EXPECT_EQ(gpus_on("1", {.gpus_per_node = "gpu:a100:5"}), "distgpu: --gres gpu:a100:5" + end);
    ShapeOptions by_slurm{.gpus_per_node = "5"};
    by_slurm.gpus_variable = "SLURM_GPUS_ON_NODE";
    EXPECT_EQ(gpus_on("1", by_slurm), "distgpu: SLURM_GPUS_ON_NODE=5" + end);
    EXPECT_EQ(gpus_on("1", {.gpus = "99999"}),
              "distgpu: --gpus=99999: more GPUs than any node has; see distgpu plan --help");
}

}  // namespace
}  // namespace distgpu
