// What `verbose` prints: one table, whose rows the nodes say each for itself.
#include "mapping/texts/plan_text.h"

#include "mapping/plan/bound_node.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

using plan_testing::bound_node;
using plan_testing::everywhere;
using plan_testing::layout;
using plan_testing::planned;
using plan_testing::request;

std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + '\n';
    return text;
}

std::string said_by(const char* spec, const StepLayout& step, std::uint32_t node,
                    std::uint32_t local, bool printed_by_srun, NodeFacts facts = {}) {
    const NodePlan plan = planned(spec, step, node, facts);
    facts.node = NodeIndex{node};
    const StartupOutput said =
        startup_output(request(spec), step, facts, plan, LocalRank{local}, printed_by_srun);
    return (said.table.empty() ? "" : said.table + '\n') + joined(said.lines);
}

const StepLayout two_and_two = layout("n[1-2]", {{0, 2, 2, 1}});
constexpr const char* verbose = "pytorch,verbose,port=2000,bind=none";

TEST(Verbose, SrunAndTheNodesPrintOneTable) {
    const std::string text =
        joined(step_lines(request(verbose), two_and_two)) +
        said_by(verbose, two_and_two, 0, 0, true) + said_by(verbose, two_and_two, 0, 1, true) +
        said_by(verbose, two_and_two, 1, 0, true) + said_by(verbose, two_and_two, 1, 1, true);
    EXPECT_EQ(text,
              "distgpu: pytorch: world size 4 on 2 nodes (n[1-2])\n"
              "distgpu: rank  node  local\n"
              "distgpu:    0  n1        0\n"
              "distgpu:    1  n1        1\n"
              "distgpu: rendezvous n1:2000 on n1, port from port=2000\n"
              "distgpu:    2  n2        0\n"
              "distgpu:    3  n2        1\n");
}

TEST(Verbose, WithoutSrunRank0sNodeSaysAllOfTheStep) {
    EXPECT_EQ(said_by(verbose, two_and_two, 0, 0, false),
              "distgpu: pytorch: world size 4 on 2 nodes (n[1-2]), rendezvous n1:2000 on n1, port "
              "from port=2000\n"
              "distgpu: rank  node  local\n"
              "distgpu:    0  n1        0\n"
              "distgpu:    1  n1        1\n");
    EXPECT_EQ(said_by(verbose, two_and_two, 1, 0, false),
              "distgpu:    2  n2        0\n"
              "distgpu:    3  n2        1\n");
}

TEST(Verbose, TellsWhatIsBound) {
    const NodeTopology topology = two_socket_node({0, 2});
    const NodeFacts facts = bound_node(topology, everywhere(2), {0, 1});
    const char* const bound = "pytorch,verbose,port=2000";
    EXPECT_EQ(step_lines(request(bound), two_and_two).back(),
              "distgpu: rank  node  local  GPUs      HCA             CPUs");
    EXPECT_EQ(said_by(bound, two_and_two, 1, 0, true, facts),
              "distgpu:    2  n2        0  0         -               0-3,16-19\n"
              "distgpu:    3  n2        1  1         -               8-11,24-27\n");
}

TEST(Verbose, BeyondSixtyFourRanksANodeHasARow) {
    const StepLayout just = layout("n[1-32]", {{0, 32, 2, 1}});
    EXPECT_EQ(said_by(verbose, just, 31, 0, true),
              "distgpu:   62  n32       0\n"
              "distgpu:   63  n32       1\n");
    const StepLayout many = layout("n[1-33]", {{0, 33, 2, 1}});
    EXPECT_EQ(joined(step_lines(request(verbose), many)),
              "distgpu: pytorch: world size 66 on 33 nodes (n[1-33])\n"
              "distgpu:       ranks  node  tasks\n");
    EXPECT_EQ(said_by(verbose, many, 32, 0, true), "distgpu:       64-65  n33       2\n");
    const StepLayout cyclic = layout("n[1-33]", {{0, 33, 1, 2}});
    EXPECT_EQ(said_by(verbose, cyclic, 1, 0, true), "distgpu:      1...34  n2        2\n");
    const NodeTopology topology = two_socket_node({0, 2});
    EXPECT_EQ(
        said_by("pytorch,verbose", many, 2, 0, true, bound_node(topology, everywhere(2), {0, 1})),
        "distgpu:         4-5  n3        2  2         -               0-3,8-11,16-19,24-27\n");
    const NodeTopology with_hcas = two_socket_node({0, 2}, {0, 2});
    EXPECT_EQ(
        said_by("pytorch,verbose", many, 2, 0, true, bound_node(with_hcas, everywhere(2), {0, 1})),
        "distgpu:         4-5  n3        2  2         2 ports         0-3,8-11,16-19,24-27\n");
}

TEST(Verbose, OfLaunchers) {
    const StepLayout one = layout("n1", {{0, 1, 1, 1}});
    EXPECT_EQ(step_lines(request("torchrun,verbose"), one).front(),
              "distgpu: torchrun: 1 launcher on 1 node (n1)");
}

TEST(DryRun, HasNoTable) {
    EXPECT_EQ(said_by("pytorch,dry-run,verbose,port=2000,bind=none", two_and_two, 0, 0, false),
              "distgpu: pytorch: world size 4 on 2 nodes (n[1-2]), rendezvous n1:2000 on n1, port "
              "from port=2000\n");
    EXPECT_EQ(said_by("pytorch,dry-run,port=2000,bind=none", two_and_two, 1, 0, false), "");
}

// Rank 0 prints the warnings of the step; another node prints its own, with its name.
TEST(StartupOutput, WarnsOnceForTheStepAndOnceForAComponentsNodes) {
    const NodeTopology topology = two_socket_node({0, 2});
    NodeFacts facts = bound_node(topology, everywhere(2), {0, 1});
    facts.is_confined = false;
    const char* const spec = "pytorch,verbose,port=2000";
    NodePlan plan = planned(spec, two_and_two, 1, facts);
    plan.warnings = {{"MASTER_PORT", "is taken", "unset it"}};
    const auto lines = [&](std::uint32_t node, std::uint32_t local, bool first_of_component) {
        facts.node = NodeIndex{node};
        plan.tasks[0].rank = GlobalRank{2 * node};
        return joined(startup_output(request(spec), two_and_two, facts, plan, LocalRank{local},
                                     true, first_of_component)
                          .lines);
    };
    EXPECT_EQ(lines(0, 0, false),
              "distgpu: MASTER_PORT: is taken; unset it\n"
              "distgpu: n2: Slurm does not confine the tasks to the step's CPUs, so distgpu leaves "
              "the CPUs as they are; see TaskPlugin and ConstrainCores\n");
    EXPECT_EQ(lines(1, 0, true), "distgpu: MASTER_PORT on n2: is taken; unset it\n");
    EXPECT_EQ(lines(1, 0, false), "");
    EXPECT_EQ(lines(1, 1, false), "");
}

TEST(DryRun, ShowsATaskWithItsBindingVariablesAndOptions) {
    const NodeTopology topology = two_socket_node({0, 2}, {0, 2});
    NodeFacts facts = bound_node(topology, everywhere(2), {0, 1});
    const auto shown = [&](const char* spec, const StepLayout& step, std::uint32_t local) {
        const NodePlan plan = planned(spec, step, 0, facts);
        return startup_output(request(spec), step, facts, plan, LocalRank{local}, false).dry_run;
    };
    const std::string pytorch = shown("pytorch,dry-run,port=2000", two_and_two, 1);
    EXPECT_TRUE(
        pytorch.starts_with("distgpu: rank 1 on n1, local rank 1 of 2, node rank 0: CPUs "
                            "8-11,24-27, GPU 1 (0000:02:00.0), mlx5_1:1 ("))
        << pytorch;
    EXPECT_NE(pytorch.find("\n  RANK=1\n"), std::string::npos) << pytorch;
    EXPECT_NE(pytorch.find("\n  unset PET_*\n"), std::string::npos) << pytorch;
    facts.address = "10.0.0.1";
    facts.gpus = 2;
    const std::string sglang =
        shown("sglang,dry-run,port=2000", layout("n[1-2]", {{0, 2, 1, 1}}), 0);
    EXPECT_NE(sglang.find("\n  distgpu exec adds: "), std::string::npos) << sglang;
    EXPECT_NE(sglang.find("--node-rank"), std::string::npos) << sglang;
}

}  // namespace
}  // namespace distgpu
