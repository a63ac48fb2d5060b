// What scontrol prints, as Slurm 22.05 prints it of topology/tree, and as topology_block.c of 24.11
// writes it.
#include "run/switches.h"

#include "base/environment_copy.h"
#include "scratch_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace distgpu::scaling {
namespace {

using Texts = std::vector<std::string>;

constexpr const char* two_leaves =
    "SwitchName=s1 Level=0 LinkSpeed=1 Nodes=node[02,04]\n"
    "SwitchName=s2 Level=0 LinkSpeed=1 Nodes=node[01,03]\n"
    "SwitchName=top Level=1 LinkSpeed=1 Nodes=node[01-04] Switches=s1,s2\n";

std::vector<Node> nodes_of(const Texts& names) {
    std::vector<Node> nodes;
    for (const std::string& name : names) nodes.push_back({name, 1, {}, {}});
    return nodes;
}

Texts switches_of(const std::vector<Node>& nodes) {
    Texts switches;
    for (const Node& node : nodes) switches.push_back(node.switches);
    return switches;
}

Texts added(const Texts& names, const char* topology) {
    auto nodes = nodes_of(names);
    add_switches(nodes, topology);
    return switches_of(nodes);
}

TEST(AddSwitches, OfATreeFromTheTopToTheLeaf) {
    EXPECT_EQ(added({"node02", "node01", "node05"}, two_leaves), (Texts{"top.s1", "top.s2", ""}));
}

// In the order of topology.conf, which is any.
TEST(AddSwitches, TheLevelDecidesNotTheOrderOfTheLines) {
    EXPECT_EQ(added({"a1"},
                    "SwitchName=root Level=2 LinkSpeed=1 Nodes=a[1-8] Switches=m1\n"
                    "SwitchName=leaf Level=0 LinkSpeed=1 Nodes=a[1-4]\n"
                    "SwitchName=m1 Level=1 LinkSpeed=1 Nodes=a[1-8] Switches=leaf,l2\n"),
              Texts{"root.m1.leaf"});
}

// As Slurm writes SLURM_TOPOLOGY_ADDR: "s[0-4].s8.tux1".
TEST(AddSwitches, SeveralOfALevelAreOneListOfNames) {
    EXPECT_EQ(added({"a1"},
                    "SwitchName=s0 Level=1 LinkSpeed=1 Nodes=a[1-2] Switches=leaf\n"
                    "SwitchName=s1 Level=1 LinkSpeed=1 Nodes=a[1-2] Switches=leaf\n"
                    "SwitchName=leaf Level=0 LinkSpeed=1 Nodes=a[1-2]\n"),
              Texts{"s[0-1].leaf"});
}

// "b8.tux1": Slurm names a node's base block, and no aggregated one.
TEST(AddSwitches, OfBlocksTheNodesOwn) {
    EXPECT_EQ(added({"n1", "n3"},
                    "BlockName=b1 BlockIndex=0 Nodes=n[1-2] BlockSize=2\n"
                    "BlockName=b2 BlockIndex=1 Nodes=n[3-4] BlockSize=2\n"
                    "AggregatedBlock=b[1-2] BlockIndex=2 Nodes=n[1-4] BlockSize=4\n"),
              (Texts{"b1", "b2"}));
}

TEST(AddSwitches, WhatTheRankSaidStays) {
    auto nodes = nodes_of({"node02", "node04"});
    nodes[0].switches = "x.y";
    add_switches(nodes, two_leaves);
    EXPECT_EQ(switches_of(nodes), (Texts{"x.y", "top.s1"}));
}

// Cut lines, names that could steer a terminal, hosts without end.
TEST(AddSwitches, WhatIsNoSwitchIsSkipped) {
    for (const char* const line :
         {"", "SwitchName=s1 Level=0 Nodes=n[1-", "SwitchName=s1 Level=0", "Nodes=n1",
          "SwitchName= Nodes=n1", "SwitchName=s\x1b[2J Nodes=n1", "SwitchName=s[1-2] Nodes=n1",
          "RingName=r1 RingIndex=0 Nodes=n1", "SwitchName=s1 Nodes=n[1-99999999]"}) {
        EXPECT_EQ(added({"n1"}, line), Texts{""}) << line;
    }
}

// 2^17 nodes: two levels of Slurm's 65,533.
TEST(AddSwitches, AllListsTogetherAreBounded) {
    EXPECT_EQ(added({"n1"},
                    "SwitchName=top Level=1 Nodes=n[1-131071]\n"
                    "SwitchName=leaf Level=0 Nodes=n1\n"
                    "SwitchName=next Level=0 Nodes=n1\n"),
              Texts{"top.leaf"});
}

// A folder with an scontrol of the test's, which notes that it was asked.
class FindSwitches : public ::testing::Test {
  protected:
    FindSwitches() {
        const auto answer = folder_.write("answer", two_leaves);
        const auto script =
            folder_.write("scontrol", "#!/bin/sh\necho \"$*\" >>" + folder_.path("asked") +
                                          "\n/bin/cat " + answer + '\n');
        std::filesystem::permissions(script, std::filesystem::perms::owner_all);
    }

    Texts found(std::vector<Node> nodes, EnvironmentCopy::Variables variables) const {
        variables["PATH"] = folder_.path("");
        find_switches(nodes, EnvironmentCopy(variables));
        return switches_of(nodes);
    }

    ScratchFolder folder_;
    std::vector<Node> nodes_ = nodes_of({"node01", "node02"});
};

TEST_F(FindSwitches, SlurmctldIsAskedOnce) {
    EXPECT_EQ(found(nodes_, {{"SLURM_JOB_ID", "7"}}), (Texts{"top.s2", "top.s1"}));
    EXPECT_EQ(folder_.read("asked"), "show topology\n");
}

TEST_F(FindSwitches, NobodyIsAskedOutsideOfAJob) {
    EXPECT_EQ(found(nodes_, {}), (Texts{"", ""}));
    EXPECT_EQ(folder_.read("asked"), "");
}

TEST_F(FindSwitches, NobodyIsAskedWhereTheRanksSaidAll) {
    for (Node& node : nodes_) node.switches = "x.y";
    EXPECT_EQ(found(nodes_, {{"SLURM_JOB_ID", "7"}}), (Texts{"x.y", "x.y"}));
    EXPECT_EQ(folder_.read("asked"), "");
}

TEST_F(FindSwitches, WithoutAnAnswerTheyStayUnknown) {
    folder_.write("scontrol", "#!/bin/sh\n/bin/cat " + folder_.path("answer") + "\nexit 1\n");
    EXPECT_EQ(found(nodes_, {{"SLURM_JOB_ID", "7"}}), (Texts{"", ""}));
    std::filesystem::remove(folder_.path("scontrol"));
    EXPECT_EQ(found(nodes_, {{"SLURM_JOB_ID", "7"}}), (Texts{"", ""}));
}

}  // namespace
}  // namespace distgpu::scaling
