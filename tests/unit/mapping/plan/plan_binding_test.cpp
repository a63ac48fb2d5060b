// Which GPUs and CPUs the tasks of a step get. What is near to what is two_socket_node()'s: NUMA
// node n has the CPUs 4n .. 4n+3 and 16+4n .. 16+4n+3.
#include "bound_node.h"
#include "mapping/binding/binding_policy.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace distgpu::plan_testing {
namespace {

using testing::Each;
using testing::ElementsAre;

std::vector<std::string> visible(const NodePlan& node) {
    return of_all(node, "CUDA_VISIBLE_DEVICES");
}

// NCCL and CUDA's peer access need one numbering for all tasks of the node.
TEST(PlanGpus, AllTasksSeeThemInOneOrder) {
    const NodeTopology topology = two_socket_node({3, 1, 2, 0});
    const NodeFacts node = bound_node(topology, in_numas({0, 1, 2, 3}), {0, 1, 2, 3});
    const NodePlan plan = planned_on("pytorch", node);
    // Task 0 is near GPU 3, tasks 1 and 2 near those of their number, task 3 near GPU 0.
    EXPECT_THAT(visible(plan), ElementsAre("3,1,2,0", "3,1,2,0", "3,1,2,0", "3,1,2,0"));
    EXPECT_EQ(plan.tasks[0].binding->gpus, std::vector<std::uint32_t>{3});
    EXPECT_EQ(plan.warnings, std::vector<Error>{});
}

TEST(PlanGpus, HaveTheNamesThatSlurmGaveThem) {
    struct Row {
        const char* title;
        std::vector<std::uint32_t> gpus;
        std::vector<std::string> names;
        const char* visible;
    };
    const std::vector<Row> rows = {
        {"hidden GPUs are not counted", {2, 3}, {"0", "1"}, "1,0"},
        {"without ConstrainDevices", {2, 3}, {"2", "3"}, "3,2"},
        {"in another order", {3, 2}, {"0", "1"}, "0,1"},
    };
    // Task 0 is near GPU 3, task 1 near GPU 2; the other two are not the step's.
    const NodeTopology topology = two_socket_node({0, 2, 2, 0});
    for (const auto& row : rows) {
        NodeFacts node = bound_node(topology, in_numas({0, 2}), row.gpus);
        node.gpu_names.names = row.names;
        EXPECT_THAT(visible(planned_on("pytorch", node)), Each(std::string(row.visible)))
            << row.title;
    }
}

TEST(PlanGpus, AreTheTasksOwnWhereIsolated) {
    const NodeTopology topology = two_socket_node({0, 1, 2, 3});
    // NUMA nodes 0 and 1 are of one package, and so are 2 and 3; the nearest GPU comes first.
    EXPECT_THAT(visible(planned_on("pytorch,gpus=isolate",
                                   bound_node(topology, in_numas({1, 3}), {0, 1, 2, 3}))),
                ElementsAre("1,0", "3,2"));
    // More tasks than GPUs: some share one.
    EXPECT_THAT(
        visible(planned_on("pytorch,gpus=isolate", bound_node(topology, everywhere(4), {1, 2}))),
        ElementsAre("0", "0", "1", "1"));
}

TEST(PlanBinding, IsWhatTheKeysSay) {
    struct Row {
        const char* spec;
        std::vector<std::string> visible;
        std::vector<std::string> cpus;
    };
    const std::vector<std::string> kept{"-", "-"};
    const std::vector<std::string> all{"0-31", "0-31"};
    const std::vector<std::string> near{"12-15,28-31", "0-3,16-19"};
    const std::vector<Row> rows = {
        {"pytorch", {"0,1", "0,1"}, near},
        {"pytorch,gpus=near,cpus=near", {"0,1", "0,1"}, near},
        {"pytorch,gpus=isolate", {"0", "1"}, near},
        {"pytorch,gpus=keep", kept, near},
        {"pytorch,cpus=keep", {"0,1", "0,1"}, all},
        {"pytorch,bind=none", kept, all},
        {"pytorch,bind=none,gpus=isolate", {"0", "1"}, all},
        {"pytorch,gpus=near,bind=none", {"0,1", "0,1"}, all},
        {"pytorch,bind=none,cpus=near", kept, near},
    };
    const NodeTopology topology = two_socket_node({3, 0});
    const NodeFacts node = bound_node(topology, everywhere(2), {0, 1});
    for (const auto& row : rows) {
        const NodePlan plan = planned_on(row.spec, node);
        EXPECT_EQ(visible(plan), row.visible) << row.spec;
        EXPECT_EQ(cpus_of(plan), row.cpus) << row.spec;
    }
}

TEST(PlanGpus, AreNamedByUuidWhereAsked) {
    NodeTopology topology = two_socket_node({2, 0, 1});
    topology.gpus[0].uuid = "GPU-aaaaaaaa-0000-0000-0000-000000000000";
    topology.gpus[1].uuid = "GPU-00000000-0000-0000-0000-00000000000b";
    // GPU 2 has none and is not the step's.
    const NodeFacts node = bound_node(topology, in_numas({0, 2}), {0, 1});
    const NodePlan plan = planned_on("pytorch,gpu-ids=uuid", node);
    EXPECT_THAT(visible(plan), Each("GPU-00000000-0000-0000-0000-00000000000b,"
                                    "GPU-aaaaaaaa-0000-0000-0000-000000000000"));
    EXPECT_EQ(plan.warnings, std::vector<Error>{});
    EXPECT_THAT(visible(planned_on("pytorch,gpu-ids=index", node)), Each("1,0"));
}

// One list cannot hold both kinds.
TEST(PlanGpus, AreNamedByIndexWhereOneHasNoUuid) {
    for (const char* unknown : {"", "GPU-00000000-0000-0000-0000-000000000000"}) {
        NodeTopology topology = two_socket_node({2, 0});
        topology.gpus[0].uuid = "GPU-aaaaaaaa-0000-0000-0000-000000000000";
        topology.gpus[1].uuid = unknown;
        const NodePlan plan =
            planned_on("pytorch,gpu-ids=uuid", bound_node(topology, in_numas({0, 2}), {0, 1}));
        EXPECT_THAT(visible(plan), Each("1,0")) << unknown;
        EXPECT_THAT(messages(plan.warnings),
                    ElementsAre("distgpu: --distgpu=pytorch: gpu-ids=uuid: the driver does not "
                                "report the UUID of every GPU; using numbers instead"));
    }
}

// By --gpus-per-task and --gpu-bind, in whatever order Slurm dealt them: the GPUs stay, and each
// task gets the CPUs near its own.
TEST(PlanGpus, StayAsSlurmBoundThem) {
    const NodeTopology topology = two_socket_node({0, 3, 1, 2});
    NodeFacts node = bound_node(topology, everywhere(2), {0, 1, 2, 3});
    const auto bound_to = [&](const std::vector<std::vector<std::uint32_t>>& gpus,
                              const char* spec) {
        node.share.bound = gpus;
        return planned_on(spec, node);
    };
    for (const char* spec : {"pytorch", "pytorch,gpus=near", "pytorch,gpus=isolate"}) {
        EXPECT_THAT(visible(bound_to({{0, 1}, {2, 3}}, spec)), Each("-")) << spec;
    }
    EXPECT_THAT(cpus_of(bound_to({{0, 1}, {2, 3}}, "pytorch")),
                ElementsAre("0-3,12-19,28-31", "4-11,20-27"));
    const NodePlan reversed = bound_to({{2, 3}, {0, 1}}, "pytorch");
    EXPECT_THAT(cpus_of(reversed), ElementsAre("4-11,20-27", "0-3,12-19,28-31"));
    EXPECT_EQ(reversed.tasks[1].binding->gpus, (std::vector<std::uint32_t>{0, 1}));
    EXPECT_EQ(reversed.warnings, std::vector<Error>{});
    // Bound to one GPU each: those of the other two idle.
    EXPECT_THAT(cpus_of(bound_to({{3}, {1}}, "pytorch")), ElementsAre("8-11,24-27", "12-15,28-31"));
    EXPECT_THAT(
        messages(bound_to({{2, 3}, {0, 1}}, "pytorch,gpu-ids=uuid").warnings),
        ElementsAre("distgpu: --distgpu=pytorch: gpu-ids=uuid: the driver does not report the UUID "
                    "of every GPU; using numbers instead",
                    "distgpu: --distgpu=pytorch: gpu-ids=uuid: Slurm bound the GPUs to the tasks "
                    "and named them; use --gpus-per-node instead of --gpus-per-task and "
                    "--gpu-bind"));
}

// Where it is not clear which GPUs the step has, nothing is moved.
TEST(PlanGpus, AndCpusStayWhereTheyAreUnclear) {
    const NodeTopology topology = two_socket_node({0, 3});
    NodeFacts node = bound_node(topology, everywhere(2), {});
    node.gpu_names.unclear = "GPUs: nobody knows";
    const NodePlan plan = planned_on("pytorch", node);
    EXPECT_THAT(visible(plan), Each("-"));
    EXPECT_THAT(cpus_of(plan), Each("0-31"));
    EXPECT_THAT(messages(plan.warnings),
                ElementsAre("distgpu: --distgpu=pytorch: GPUs: nobody knows; GPUs "
                            "and CPUs stay as Slurm set them"));
}

TEST(PlanCpus, AreNarrowedOnlyWhereTheyAreTheSteps) {
    struct Row {
        const char* title;
        const char* spec;
        bool confined;
        bool user_bound;
        bool narrowed;
    };
    const std::vector<Row> rows = {
        {"the step's", "pytorch", true, false, true},
        {"the user's --cpu-bind", "pytorch", true, true, false},
        {"--cpu-bind and a wish", "pytorch,cpus=near", true, true, true},
        {"also other steps'", "pytorch", false, false, false},
        {"also other steps', and a wish", "pytorch,cpus=near", false, false, false},
    };
    const NodeTopology topology = two_socket_node({0, 3});
    for (const auto& row : rows) {
        NodeFacts node = bound_node(topology, everywhere(2), {0, 1});
        node.confined = row.confined;
        node.user_bound = row.user_bound;
        const NodePlan plan = planned_on(row.spec, node);
        EXPECT_THAT(cpus_of(plan), row.narrowed ? ElementsAre("0-3,16-19", "12-15,28-31")
                                                : ElementsAre("0-31", "0-31"))
            << row.title;
        EXPECT_THAT(visible(plan), Each("0,1")) << row.title;
    }
}

TEST(PlanBinding, WithoutATopologyOrMasksChangesNothing) {
    const NodeTopology topology = two_socket_node({3, 0}, {0, 1});
    NodeFacts without_topology = bound_node(topology, everywhere(2), {0, 1});
    without_topology.topology = nullptr;
    NodeFacts without_masks = bound_node(topology, {}, {0, 1});
    NodeFacts plain;
    plain.cpus = 32;
    const StepLayout step = layout("n[1-2]", {{0, 2, 2, 1}});
    for (const char* spec : {"pytorch", "pytorch,gpus=isolate"}) {
        const NodePlan before = planned(spec, step, 0, plain);
        EXPECT_THAT(cpus_of(before), Each("-"));
        EXPECT_THAT(visible(before), Each("-"));
        EXPECT_EQ(planned(spec, step, 0, without_topology), before) << spec;
        EXPECT_EQ(planned(spec, step, 0, without_masks), before) << spec;
    }
}

TEST(PlanBinding, AStepWithoutGpusHasNoVariableForThem) {
    const NodeTopology topology = two_socket_node({3, 0});
    const NodePlan plan = planned_on("pytorch", bound_node(topology, in_numas({1, 2}), {}));
    EXPECT_THAT(visible(plan), Each("-"));
    EXPECT_EQ(plan.tasks[0].binding->gpus, std::vector<std::uint32_t>{});
}

TEST(PlanBinding, NeedsATopologyForWhatIsNear) {
    for (const char* spec :
         {"pytorch", "torchrun", "pytorch,gpus=keep,cpus=keep", "pytorch,bind=none,hcas=near",
          "pytorch,bind=none,cpus=near", "pytorch,bind=none,gpus=isolate"}) {
        EXPECT_TRUE(needs_topology(request(spec))) << spec;
    }
    for (const char* spec : {"pytorch,bind=none", "pytorch,gpus=keep,cpus=keep,hcas=keep",
                             "pytorch,bind=none,hcas=keep", "pytorch,bind=none,gpu-ids=uuid"}) {
        EXPECT_FALSE(needs_topology(request(spec))) << spec;
    }
}

}  // namespace
}  // namespace distgpu::plan_testing
