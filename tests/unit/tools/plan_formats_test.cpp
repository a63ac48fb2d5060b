// What a step has on its nodes, and its plan as people read it.
#include "mapping/binding/two_socket_node.h"
#include "mapping/spec/parse_spec.h"
#include "plan/formats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace distgpu {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

PlanInput input(const std::string& spec, const LayoutText& layout, StepTopologies topologies = {}) {
    return {*parse_spec("SPEC", spec),
            *Shape::make({}, *parse_layout(layout), std::move(topologies)), StepId{}};
}

// The layout of two tasks on each of two nodes.
const LayoutText two_and_two{.nodelist = "n[1-2]", .tasks_per_node = "2"};

std::string table_of(const PlanInput& input, bool colour = false) {
    std::string text;
    const auto done = write_plan_table(input, colour, [&](std::string_view piece) {
        text += piece;
        return Done{};
    });
    return done ? text : done.error().message();
}

TEST(PlanTable, ALineForTheStepAndEachTask) {
    EXPECT_EQ(table_of(input("pytorch,port=2000", two_and_two)),
              "pytorch: 4 ranks on 2 nodes, rendezvous n1:2000 (port from port=2000)\n"
              "rank  node  local\n"
              "   0  n1        0\n"
              "   1  n1        1\n"
              "   2  n2        0\n"
              "   3  n2        1\n");
}

TEST(PlanTable, WithoutAJobThePortOfOneIsNotTold) {
    EXPECT_THAT(table_of(input("pytorch", two_and_two)),
                HasSubstr("rendezvous n1 (port from job and step id)\n"));
    PlanInput in_job = input("pytorch", two_and_two);
    in_job.step.job = 42;
    EXPECT_THAT(table_of(in_job), HasSubstr("rendezvous n1:2"));
}

TEST(PlanTable, LaunchersAreNotCalledRanks) {
    const LayoutText one{.nodelist = "node-with-a-long-name"};
    EXPECT_EQ(table_of(input("torchrun,nproc=2,port=2000", one)),
              "torchrun: 1 launcher on 1 node, rendezvous node-with-a-long-name:2000 (port from "
              "port=2000)\n"
              "rank  node                   local\n"
              "   0  node-with-a-long-name      0\n");
}

TEST(PlanTable, WhereATopologyIsKnownItSaysWhatIsBound) {
    StepTopologies topologies;
    // Each task gets the CPUs of its GPU's NUMA node; the port is in that of the second.
    topologies.by_node[0] = two_socket_node({0, 2}, {2});
    const std::string text =
        table_of(input("pytorch,port=2000", two_and_two, std::move(topologies)));
    EXPECT_THAT(text, HasSubstr("rank  node  local  GPUs      HCA             CPUs\n"
                                "   0  n1        0  0         mlx5_0:1 SYS    0-3,16-19\n"
                                "   1  n1        1  1         mlx5_0:1 NODE   8-11,24-27\n"));
    EXPECT_THAT(text, HasSubstr("   2  n2        0\n"));
}

TEST(PlanTable, OneRankWithItsVariables) {
    PlanInput rank3 = input("pytorch,port=2000", two_and_two);
    rank3.rank = GlobalRank{3};
    const std::string text = table_of(rank3);
    EXPECT_THAT(text, HasSubstr("   3  n2        1\n\nMASTER_ADDR=n1\nMASTER_PORT=2000\n"));
    EXPECT_THAT(text, HasSubstr("\nLOCAL_RANK=1\n"));
    EXPECT_THAT(text, HasSubstr("\n\nremoved: "));
    EXPECT_THAT(text, Not(HasSubstr("   2  n2")));
}

TEST(PlanTable, EachWarningOnceAtTheEnd) {
    // One task on a node with four GPUs.
    ShapeOptions options;
    options.layout.nodelist = "n[1-2]";
    options.gpus_per_node = "gpu:h100:4";  // as --gres has it
    options.cpus_per_task = "8";
    const PlanInput idle{*parse_spec("SPEC", "pytorch,port=2000"),
                         *Shape::make(options, *parse_layout(options.layout), {}), StepId{}};
    const std::string plain = table_of(idle);
    const std::string line = plain.substr(plain.find("   1  n2        0\n") + 18);
    EXPECT_THAT(line, HasSubstr("--ntasks-per-node=4"));
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    const std::string coloured = table_of(idle, true);
    EXPECT_THAT(coloured, EndsWith("\x1b[33m" + line.substr(0, line.size() - 1) + "\x1b[0m\n"));
    EXPECT_THAT(coloured, HasSubstr("\n\x1b[1mrank  node  local\x1b[0m\n"));
}

TEST(PlanTable, AnErrorEndsIt) {
    const LayoutText unequal{.nodelist = "n[1-2]", .tasks_per_node = "2,1"};
    EXPECT_THAT(table_of(input("lightning", unequal)), StartsWith("distgpu: "));
    int calls = 0;
    const auto done = write_plan_table(input("pytorch", two_and_two), false,
                                       [&](std::string_view) -> Result<Done> {
                                           ++calls;
                                           return Error{"standard output", "full", ""};
                                       });
    EXPECT_EQ(done.error().problem, "full");
    EXPECT_EQ(calls, 1);
}

// Shapes: the GPUs of a step's nodes, as the options of `distgpu plan` and of srun give them.

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
    return shape->gpus_warning ? text + " " + shape->gpus_warning->message() : text;
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
