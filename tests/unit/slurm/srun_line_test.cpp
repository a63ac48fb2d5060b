// What `distgpu plan` takes from an srun line.
#include "slurm/srun_line.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

using Words = std::vector<std::string>;

SrunLine line(const Words& options) {
    Words words{"srun", "--distgpu=pytorch"};
    words.insert(words.end(), options.begin(), options.end());
    const auto read = read_srun_line(words);
    EXPECT_TRUE(read) << (read ? "" : read.error().message());
    return read ? *read : SrunLine{};
}

std::string refused(const Words& words) {
    const auto read = read_srun_line(words);
    return read ? "read" : read.error().message();
}

TEST(SrunLine, HasItsOptionsAndTheProgramItsOwn) {
    const SrunLine read = line({"-N", "2", "--ntasks=8", "-m", "cyclic:block", "-c4", "-p", "gpu",
                                "--exclusive", "python3", "train.py", "-n", "3", "--nodes=9"});
    EXPECT_EQ(read.shape.layout,
              (LayoutText{.nodes = "2", .ntasks = "8", .distribution = "cyclic"}));
    EXPECT_EQ(read.shape.cpus_per_task, "4");
    EXPECT_EQ(read.program, (Words{"python3", "train.py", "-n", "3", "--nodes=9"}));
    EXPECT_EQ(read.spec, "pytorch");
}

TEST(SrunLine, NodesFollowFromTasks) {
    EXPECT_EQ(line({"a"}).shape.layout, LayoutText{.nodes = "1"});
    EXPECT_EQ(line({"-n4", "a"}).shape.layout, (LayoutText{.nodes = "1", .ntasks = "4"}));
    EXPECT_EQ(line({"-n5", "--ntasks-per-node=2", "a"}).shape.layout,
              (LayoutText{.nodes = "3", .ntasks = "5"}));
    EXPECT_EQ(line({"-N2", "--ntasks-per-node=4", "a"}).shape.layout,
              (LayoutText{.nodes = "2", .tasks_per_node = "4"}));
    EXPECT_EQ(line({"-N2", "-w", "n[1-2]", "a"}).shape.layout, LayoutText{.nodelist = "n[1-2]"});
}

// srun -N2 -n6 by itself runs five tasks on the first node: it has allocated so many CPUs there.
TEST(SrunLine, TasksThatSlurmDividesAreTold) {
    const auto told = [](const Words& options) { return line(options).left_out.size(); };
    EXPECT_EQ(told({"-N2", "-n6", "a"}), 1U);
    EXPECT_EQ(told({"-w", "n[1-2]", "-n6", "a"}), 1U);
    EXPECT_EQ(told({"-N2", "-n6", "--ntasks-per-node=4", "a"}), 1U);
    EXPECT_EQ(told({"-N2", "-n6", "--ntasks-per-node=3", "a"}), 0U);
    EXPECT_EQ(told({"-N2", "-n2", "a"}), 0U);
    EXPECT_EQ(told({"-n6", "a"}), 0U);
    EXPECT_EQ(told({"-N2", "--ntasks-per-node=3", "a"}), 0U);
}

TEST(SrunLine, GpusOfANode) {
    EXPECT_EQ(line({"--gres=gpu:4", "a"}).shape.gpus_per_node, "gpu:4");
    EXPECT_EQ(line({"--gres", "license:a,gpu:h100:4", "a"}).shape.gpus_per_node, "gpu:h100:4");
    EXPECT_EQ(line({"--gpus-per-node=2", "a"}).shape.gpus_per_node, "2");
    EXPECT_EQ(line({"-G8", "a"}).shape.gpus, "8");
    const auto left_out = line({"--gpus-per-task=1", "a"}).left_out;
    ASSERT_EQ(left_out.size(), 1U);
    EXPECT_EQ(left_out[0].object, "--gpus-per-task=1");
}

TEST(SrunLine, OptionsOfOtherPluginsArePassedOver) {
    const SrunLine read = line({"--uenv=pytorch/2:v1", "-N2", "a"});
    EXPECT_EQ(read.shape.layout, LayoutText{.nodes = "2"});
    ASSERT_EQ(read.left_out.size(), 1U);
    EXPECT_EQ(
        read.left_out[0].message(),
        "distgpu: --uenv=pytorch/2:v1: srun has no such option, so it may be another plugin's; "
        "check its spelling if srun refuses it");
    const SrunLine misspelt = line({"--nods=2", "a"});
    ASSERT_EQ(misspelt.left_out.size(), 1U);
    EXPECT_EQ(
        misspelt.left_out[0].message(),
        "distgpu: --nods=2: srun has no such option, so it may be another plugin's; write --nodes "
        "if you mean that");
}

TEST(SrunLine, ARangeOfNodesIsPlannedForTheFewest) {
    for (const char* nodes : {"2-4", "2,4", "2-8:2"}) {
        const SrunLine read = line({"-N", nodes, "--ntasks-per-node=4", "a"});
        EXPECT_EQ(read.shape.layout, (LayoutText{.nodes = "2", .tasks_per_node = "4"}));
        ASSERT_EQ(read.left_out.size(), 1U) << nodes;
        EXPECT_EQ(read.left_out[0].message(),
                  std::string("distgpu: --nodes=") + nodes +
                      ": only Slurm knows how many nodes it will give; this is the plan for 2; "
                      "write --nodes=N to see another");
    }
    EXPECT_EQ(line({"-N2-x", "a"}).shape.layout.nodes, "2-x");
}

TEST(SrunLine, ARangeOfTheJobIsToldWhereTheStepTakesIt) {
    StepOptions job;
    job.shape.layout = {.nodes = "2-4", .tasks_per_node = "4"};
    const auto told = [&](const Words& options) {
        Words words{"srun", "--distgpu=pytorch"};
        words.insert(words.end(), options.begin(), options.end());
        const auto read = read_srun_line(words, job);
        EXPECT_TRUE(read);
        return read->shape.layout.nodes + (read->left_out.empty() ? "" : ", told");
    };
    EXPECT_EQ(told({"a"}), "2, told");
    EXPECT_EQ(told({"--nodes=$SLURM_NNODES", "a"}), "2, told");
    EXPECT_EQ(told({"-N1", "-n1", "a"}), "1");
}

TEST(SrunLine, WhatThePlanCannotFollowIsRefused) {
    EXPECT_EQ(refused({"srun", "-N2", "a"}),
              "distgpu: srun: it has no --distgpu; add --distgpu=MODE before the program");
    for (const char* word : {"--relative=1", "-r1", "--het-group=0,1", "--ntasks-per-gpu=1",
                             "--multi-prog", "--nodefile=hosts"}) {
        EXPECT_EQ(refused({"srun", word, "--distgpu=pytorch", "a"}),
                  std::string("distgpu: ") + word +
                      ": only Slurm knows how it distributes the tasks; leave it out here, or see "
                      "the plan of the step itself with --distgpu=...,dry-run");
    }
    EXPECT_EQ(refused({"srun", "--uenv", "pytorch", "a"}),
              "distgpu: --uenv: srun has no such option, and the next word may be its value; write "
              "--uenv=VALUE if it takes one, or leave it out here");
    EXPECT_EQ(refused({"srun", "--distgpu=pytorch", "-N"}),
              "distgpu: -N: it needs a value; give one, as in -N2");
    EXPECT_EQ(refused({"srun"}).substr(0, 13), "distgpu: srun");
}

}  // namespace
}  // namespace distgpu
