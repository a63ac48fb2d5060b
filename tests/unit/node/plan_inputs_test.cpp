// What the plugin and `distgpu exec` collect alike, and what the tasks of a node tell each other.
#include "node/plan_inputs.h"

#include "child_process.h"
#include "map_environment.h"
#include "mapping/plan/plan_testing.h"

#include <gtest/gtest.h>

#include <sched.h>

namespace distgpu {
namespace {

StepLayout one_node() {
    return plan_testing::layout("n1", {{0, 1, 2, 1}});
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

TEST(FindOwnNode, GoesOnWithoutATopology) {
    const OwnNode node =
        find_own_node({.address = "",
                       .name = "n1",
                       .topology = TopologySource{"/nowhere/node.json", true, "/nowhere/distgpu"}});
    EXPECT_EQ(node.topology, nullptr);
    ASSERT_EQ(node.warnings.size(), 1U);
    EXPECT_TRUE(node.warnings.front().object.starts_with("topology of "));
    EXPECT_EQ(node.warnings.front().remedy,
              "CPUs, GPUs and network devices stay as Slurm set them");
}

TEST(SetGpus, SaysWhyItIsNotClearWhichTheyAre) {
    NodeFacts facts;
    set_gpus(facts, StepGpus{{0, 2}, {"0", "1"}});
    EXPECT_EQ(facts.share.gpus, (std::vector<std::uint32_t>{0, 2}));
    EXPECT_EQ(facts.gpu_names.names, (std::vector<std::string>{"0", "1"}));
    EXPECT_EQ(facts.gpu_names.ambiguity, "");
    set_gpus(facts, Error{"GPUs", "nobody knows", ""});
    EXPECT_EQ(facts.gpu_names.ambiguity, "GPUs: nobody knows");
}

// ---- What a node's tasks tell each other through the memory that they share: with real children,
// each of which tells its own GPUs and waits for the others, and whose affinity is set before they
// are released, as slurmstepd does it.

using Lists = std::vector<std::vector<std::uint32_t>>;
using namespace std::chrono_literals;

// A CPU for each of two tasks: different ones where this process may use several.
std::vector<CpuSet> two_masks() {
    const auto cpus = own_cpus().cpus();
    return {{cpus.back()}, {cpus.front()}};
}

void bind_task(pid_t task, const CpuSet& cpus) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const std::uint32_t cpu : cpus.cpus()) CPU_SET(cpu, &set);
    ASSERT_EQ(sched_setaffinity(task, sizeof set, &set), 0);
}

TEST(SharedTaskState, EveryTaskLearnsTheCpusAndGpusOfAll) {
    const std::vector<CpuSet> masks = two_masks();
    const Lists gpus{{3, 1}, {0}};
    SharedTaskState shared;
    shared.create(2);
    const auto task = [&](std::uint32_t rank) {
        return [&, rank] {
            shared.publish_gpus(LocalRank{rank}, gpus[rank]);
            return shared.wait_for_gpus(10s) == gpus && shared.cpus() == masks;
        };
    };
    ChildProcess first(task(0));
    ChildProcess second(task(1));
    bind_task(first.pid(), masks[0]);
    shared.record_cpus(0, first.pid());
    bind_task(second.pid(), masks[1]);
    shared.record_cpus(1, second.pid());
    // Each is waited for here; so the second must not need the first to be released.
    shared.publish_gpus(LocalRank{1}, gpus[1]);
    EXPECT_TRUE(first.release());
    EXPECT_TRUE(second.release());
    EXPECT_EQ(shared.cpus(), masks);
}

TEST(SharedTaskState, GpusAreNotKnownWhereOneIsSilentOrDoesNotKnow) {
    SharedTaskState shared;
    shared.create(2);
    shared.publish_gpus(LocalRank{0}, {1});
    EXPECT_EQ(shared.wait_for_gpus(5ms), std::nullopt);
    shared.publish_gpus(LocalRank{1}, {});
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(shared.wait_for_gpus(10s), std::nullopt);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
    shared.publish_gpus(LocalRank{1}, std::vector<std::uint32_t>(129));
    EXPECT_EQ(shared.wait_for_gpus(10s), std::nullopt);
    shared.publish_gpus(LocalRank{1}, std::vector<std::uint32_t>(128));
    EXPECT_EQ(shared.wait_for_gpus(10s)->at(1).size(), 128U);
}

TEST(SharedTaskState, CpusAreNotKnownWhereOneIsMissing) {
    ChildProcess gone([] { return true; });
    const pid_t ended = gone.pid();
    ASSERT_TRUE(gone.release());
    for (const std::size_t recorded : {0U, 1U}) {
        SharedTaskState shared;
        shared.create(2);
        EXPECT_TRUE(shared.cpus().empty());
        shared.record_cpus(recorded, getpid());
        EXPECT_TRUE(shared.cpus().empty()) << recorded;
        shared.record_cpus(1 - recorded, ended);
        EXPECT_TRUE(shared.cpus().empty()) << recorded;
        shared.record_cpus(1 - recorded, getpid());
        EXPECT_EQ(shared.cpus().size(), 2U) << recorded;
    }
}

// A local rank that Slurm did not announce, and no memory: more than the address space.
TEST(SharedTaskState, HasNoPlaceForOthers) {
    SharedTaskState one;
    one.create(1);
    SharedTaskState none;
    none.create(SIZE_MAX / sizeof(KernelCpuSet) / 2);
    for (SharedTaskState* shared : {&one, &none}) {
        shared->publish_gpus(LocalRank{1}, {7});
        shared->publish_gpus(LocalRank{UINT32_MAX}, {7});
        shared->record_cpus(1, getpid());
        shared->record_cpus(SIZE_MAX, getpid());
        EXPECT_TRUE(shared->cpus().empty());
        shared->publish_gpus(LocalRank{0}, {2});
        shared->record_cpus(0, getpid());
    }
    EXPECT_EQ(one.wait_for_gpus(0s), Lists{{2}});
    EXPECT_EQ(one.cpus().size(), 1U);
    EXPECT_EQ(none.wait_for_gpus(10s), std::nullopt);
    EXPECT_TRUE(none.cpus().empty());
}

// ---- A step with GPUs 0 to 3, which Slurm counts in the node, and two tasks.

class StepGpuFactsTest : public testing::Test {
  protected:
    StepGpuFactsTest() {
        topology_.gpus.resize(4);
        state_.create(2);
    }

    // What task 0 learns where it has `task` and the other tells `sibling`.
    NodeFacts learned(const MapEnvironment::Variables& task,
                      const std::vector<std::uint32_t>& sibling,
                      Numbering numbering = Numbering::node) const {
        MapEnvironment::Variables step{{"CUDA_VISIBLE_DEVICES", "0,1,2,3"}};
        if (task.count("SLURM_SHARDS_ON_NODE") != 0) step["SLURM_SHARDS_ON_NODE"] = "2";
        StepGpuFacts gpus;
        gpus.read_step(MapEnvironment(step), numbering);
        NodeFacts facts;
        facts.topology = &topology_;
        state_.publish_gpus(LocalRank{1}, sibling);
        gpus.set_task_gpus(facts, MapEnvironment(task), LocalRank{0}, state_);
        return facts;
    }
    static MapEnvironment::Variables bound(const char* visible) {
        return {{"CUDA_VISIBLE_DEVICES", visible}, {"SLURM_GPUS_PER_TASK", "1"}};
    }

    NodeTopology topology_;
    SharedTaskState state_;
};

TEST_F(StepGpuFactsTest, OfAllTasksWhereNoneIsBound) {
    const NodeFacts facts = learned({{"CUDA_VISIBLE_DEVICES", "0,1,2,3"}}, {0, 1, 2, 3});
    EXPECT_EQ(facts.gpus, 4U);
    EXPECT_EQ(facts.share.gpus, (std::vector<std::uint32_t>{0, 1, 2, 3}));
    EXPECT_EQ(facts.gpu_names.names, (std::vector<std::string>{"0", "1", "2", "3"}));
    EXPECT_EQ(facts.gpu_names.variables, std::vector<std::string>{"CUDA_VISIBLE_DEVICES"});
    EXPECT_TRUE(facts.share.task_gpus.empty());
    EXPECT_EQ(state_.wait_for_gpus(0ms), (Lists{{0, 1, 2, 3}, {0, 1, 2, 3}}));
}

TEST_F(StepGpuFactsTest, OfEachTaskWhereSlurmBoundThem) {
    const NodeFacts facts = learned(bound("2"), {0});
    EXPECT_EQ(facts.gpus, 1U);
    EXPECT_EQ(facts.share.gpus, (std::vector<std::uint32_t>{0, 2}));
    EXPECT_EQ(facts.share.task_gpus, (Lists{{2}, {0}}));
    EXPECT_EQ(facts.gpu_names.names, (std::vector<std::string>{"", ""}));
    // Both have the same: they share it.
    EXPECT_TRUE(learned(bound("2"), {2}).share.task_gpus.empty());
}

TEST_F(StepGpuFactsTest, SaysWhyTheyAreAmbiguous) {
    EXPECT_EQ(learned(bound("2"), {}).gpu_names.ambiguity,
              "GPUs: Slurm bound them to the tasks, and not every task knows which ones it has");
    EXPECT_EQ(learned(bound("GPU-1"), {0}).gpu_names.ambiguity,
              "GPUs: Slurm bound them to the tasks, and a variable of the container hides which");
    EXPECT_EQ(learned(bound("2"), {0}, Numbering::opened).gpu_names.ambiguity,
              "GPUs: the driver does not report which device file belongs to which GPU");
}

TEST_F(StepGpuFactsTest, NobodysWhereJobsShareThemOrTheTaskSeesNone) {
    for (const MapEnvironment::Variables& task :
         {MapEnvironment::Variables{{"CUDA_VISIBLE_DEVICES", "0"}, {"SLURM_SHARDS_ON_NODE", "2"}},
          MapEnvironment::Variables{}}) {
        const NodeFacts facts = learned(task, {0});
        EXPECT_TRUE(facts.gpu_names.variables.empty());
        EXPECT_TRUE(facts.share.gpus.empty());
        EXPECT_EQ(facts.gpu_names.ambiguity, "");
    }
}

}  // namespace
}  // namespace distgpu
