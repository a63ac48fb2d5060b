// What Slurm's numbers mean to a task, on a node of four GPUs: by what they count, and by which
// GPUs the task can open.
#include "mapping/binding/step_gpus.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace distgpu {
namespace {

using Usable = std::optional<std::vector<std::uint32_t>>;

NodeTopology four_gpus() {
    NodeTopology topology;
    topology.gpus.resize(4);
    return topology;
}

const Usable all{{0, 1, 2, 3}};

TEST(StepGpus, AreThoseThatCudaOpensByTheirNumbers) {
    struct Row {
        const char* title;
        Numbering numbering;
        Usable usable;
        const char* visible;
        StepGpus gpus;
    };
    const std::vector<Row> rows = {
        {"all of the node", Numbering::node, all, "0,1,2,3", {{0, 1, 2, 3}, {"0", "1", "2", "3"}}},
        {"the second half", Numbering::node, all, "2,3", {{2, 3}, {"2", "3"}}},
        {"no driver to ask", Numbering::node, std::nullopt, "1,3", {{1, 3}, {"1", "3"}}},
        {"only these open", Numbering::opened, {{1, 3}}, "0,1", {{1, 3}, {"0", "1"}}},
        {"and all of them",
         Numbering::opened,
         all,
         "0,1,2,3",
         {{0, 1, 2, 3}, {"0", "1", "2", "3"}}},
        {"a task's own", Numbering::opened, {{3}}, "0,1", {{3}, {"0"}}},
        // A container with some of the device files: CUDA counts those from 0.
        {"a container with the given ones", Numbering::node, {{2, 3}}, "2,3", {{2, 3}, {"0", "1"}}},
        {"a container with one of all", Numbering::node, {{1}}, "0,1,2,3", {{1}, {"0"}}},
        {"a container with another's too", Numbering::node, {{0, 1, 2}}, "1,3", {{1}, {"1"}}},
    };
    for (const auto& row : rows) {
        const auto gpus = step_gpus(four_gpus(), row.usable, row.visible, row.numbering);
        ASSERT_TRUE(gpus) << row.title << gpus.error().message();
        EXPECT_EQ(*gpus, row.gpus) << row.title;
    }
}

TEST(StepGpus, AreNotOursToOrderWithoutPlainNumbers) {
    for (const char* visible :
         {"", "MIG-64dfcfa8-0b7a-5a6e-9d3f-4a2b7ab9d2c1,MIG-1", "GPU-1,GPU-2", "0,4", "1,0", "0,0",
          "0,1,", ",0", "0-1", "-1", "0, 1", "4294967297", "gpu:0"}) {
        for (const Numbering numbering : {Numbering::node, Numbering::opened}) {
            const auto gpus = step_gpus(four_gpus(), all, visible, numbering);
            ASSERT_TRUE(gpus) << visible;
            EXPECT_EQ(*gpus, StepGpus{}) << visible;
        }
    }
}

TEST(StepGpus, AreUnclearOtherwise) {
    struct Row {
        Numbering numbering;
        Usable usable;
        const char* visible;
        const char* problem;
    };
    const char* const none = "the task can open none of those that Slurm gave it";
    const std::vector<Row> rows = {
        {Numbering::opened, std::nullopt, "0,1",
         "the driver does not report which device file is whose"},
        // A GPU that gres.conf does not list: Slurm denies it to nobody, and CUDA counts it.
        {Numbering::opened,
         {{0, 1, 2}},
         "0,1",
         "the task can open 3, but Slurm gave it 2; list every GPU of the node in gres.conf"},
        {Numbering::opened, Usable(std::in_place), "0,1", none},
        {Numbering::node, {{0, 1}}, "2,3", none},
    };
    for (const auto& row : rows) {
        const auto gpus = step_gpus(four_gpus(), row.usable, row.visible, row.numbering);
        ASSERT_FALSE(gpus) << row.problem;
        EXPECT_EQ(gpus.error().problem, row.problem);
    }
}

// CUDA counts a GPU with MIG instances otherwise than one without.
TEST(StepGpus, AreUnclearBesideAGpuThatIsDivided) {
    NodeTopology topology = four_gpus();
    topology.gpus[3].mig = {{"MIG-1", "1g.10gb"}};
    EXPECT_FALSE(step_gpus(topology, all, "0,1", Numbering::node));
    EXPECT_FALSE(step_gpus(topology, {{2, 3}}, "0,1", Numbering::opened));
    // One that cannot be opened is not counted at all.
    EXPECT_TRUE(step_gpus(topology, {{1, 2}}, "0,1", Numbering::opened));
}

TEST(LikelyNumbering, IsTheNodesWhereEverythingOpens) {
    EXPECT_EQ(likely_numbering(four_gpus(), all), Numbering::node);
    EXPECT_EQ(likely_numbering(four_gpus(), {{0, 1, 2}}), Numbering::opened);
    EXPECT_EQ(likely_numbering(four_gpus(), std::nullopt), Numbering::opened);
}

}  // namespace
}  // namespace distgpu
