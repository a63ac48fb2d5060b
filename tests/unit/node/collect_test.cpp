// What the plugin and `distgpu exec` collect alike.
#include "node/collect.h"

#include "map_environment.h"

#include <gtest/gtest.h>

#include <string>

namespace distgpu {
namespace {

StepLayout one_node() {
    const std::vector<TasksRun> runs{{2, 1}};
    return *StepLayout::distribute(*HostList::parse("n1"), runs, {});
}

TEST(CollectStep, ReadsWhatSlurmAndTheUserSay) {
    const MapEnvironment environment({{"SLURM_JOB_CPUS_PER_NODE", "8(x2)"},
                                      {"SLURM_JOB_NAME", "train"},
                                      {"SLURM_STEP_RESV_PORTS", "12000-12001"},
                                      {"MASTER_ADDR", "n9"},
                                      {"MASTER_PORT", "29500"}});
    const Step step = collect_step(environment, one_node());
    EXPECT_EQ(step.layout, one_node());
    EXPECT_EQ(step.facts.cpus_per_node, "8(x2)");
    EXPECT_EQ(step.facts.job_name, "train");
    EXPECT_EQ(step.rendezvous.reserved_ports, "12000-12001");
    EXPECT_EQ(step.rendezvous.exported_address, "n9");
    EXPECT_EQ(step.rendezvous.exported_port, "29500");
}

// It would begin a line of a log.
TEST(CollectStep, LeavesOutWhatIsNoLine) {
    const MapEnvironment environment({{"SLURM_JOB_NAME", "train\nrank 0 failed"},
                                      {"SLURM_JOB_CPUS_PER_NODE", std::string(200'000, '8')}});
    const Step step = collect_step(environment, one_node());
    EXPECT_EQ(step.facts.job_name, "");
    EXPECT_EQ(step.facts.cpus_per_node, "");
}

// What distgpu gave a task is no export of its user's, but where a prepared task meets.
TEST(CollectStep, APreparedTaskMeetsWhereItWasPreparedTo) {
    MapEnvironment environment({{"SLURM_JOB_ID", "7"},
                                {"SLURM_STEP_ID", "0"},
                                {"MASTER_ADDR", "n1"},
                                {"SLURM_DISTGPU_GIVEN", "MASTER_ADDR=n1"}});
    EXPECT_FALSE(collect_step(environment, one_node()).rendezvous.exported_address);
    environment.set("SLURM_DISTGPU_PREPARED", "7.0 pytorch");
    EXPECT_EQ(collect_step(environment, one_node()).rendezvous.exported_address, "n1");
}

TEST(FindOwnNode, WarnsOfAnAddressOnTheLoopback) {
    const OwnNode node = find_own_node({.address = "127.0.0.1", .name = "n1", .remedy = "move it"});
    ASSERT_EQ(node.warnings.size(), 1U);
    EXPECT_EQ(node.warnings.front().message(),
              "distgpu: 127.0.0.1: resolves to 127.0.0.1 on its own node, so other nodes cannot "
              "reach it; move it");
}

TEST(FindOwnNode, LooksForNothingThatWasNotAskedFor) {
    const OwnNode node = find_own_node({.address = "", .name = "n1"});
    EXPECT_EQ(node.interface, "");
    EXPECT_EQ(node.topology, nullptr);
    EXPECT_TRUE(node.warnings.empty());
}

TEST(SetGpus, SaysWhyItIsNotClearWhichTheyAre) {
    NodeFacts facts;
    set_gpus(facts, StepGpus{{0, 2}, {"0", "1"}});
    EXPECT_EQ(facts.share.gpus, (std::vector<std::uint32_t>{0, 2}));
    EXPECT_EQ(facts.gpu_names.names, (std::vector<std::string>{"0", "1"}));
    EXPECT_EQ(facts.gpu_names.unclear, "");
    set_gpus(facts, Error{"GPUs", "nobody knows", ""});
    EXPECT_EQ(facts.gpu_names.unclear, "GPUs: nobody knows");
}

}  // namespace
}  // namespace distgpu
