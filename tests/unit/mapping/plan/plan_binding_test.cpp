// Which GPUs, CPUs and network devices the tasks of a step get. What is near to what is
// two_socket_node()'s: NUMA node n has the CPUs 4n .. 4n+3 and 16+4n .. 16+4n+3.
#include "bound_node.h"
#include "mapping/binding/binding.h"

#include <gmock/gmock.h>

#include <map>

namespace distgpu::plan_testing {
namespace {

using testing::Each;
using testing::ElementsAre;

std::vector<std::string> visible(const NodePlan& node) {
    return of_all(node, "CUDA_VISIBLE_DEVICES");
}

// NCCL and CUDA's peer access need one numbering for all tasks of the node.
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
        node.share.task_gpus = gpus;
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

using testing::StartsWith;
using State = HcaPort::State;
using Link = HcaPort::Link;

constexpr HcaPort management{1, State::active, Link::ethernet, 25};

NodePlan planned_with(const NodeTopology& topology, const std::vector<std::uint32_t>& gpus,
                      std::uint32_t tasks, const char* spec = "pytorch") {
    return planned_on(spec, bound_node(topology, everywhere(tasks), gpus));
}

// NCCL's ranks fuse what they see of a node: each has to have the same list.
TEST(PlanNcclHcas, LeaveOutPortsOfOtherNetworks) {
    NodeTopology topology = two_socket_node({0, 3}, {0, 1, 3});
    topology.hcas[1].ports = {management};
    topology.hcas[2].ports.push_back({2, State::active, Link::ethernet, 400});
    EXPECT_THAT(of_all(planned_with(topology, {0, 1}, 2), "NCCL_IB_HCA"),
                Each("=mlx5_0:1,mlx5_2:1"));
    // Also for the one task that has no choice, and for a launcher's processes.
    EXPECT_THAT(of_all(planned_with(topology, {0, 1}, 1), "NCCL_IB_HCA"),
                Each("=mlx5_0:1,mlx5_2:1"));
    EXPECT_THAT(of_all(planned_with(topology, {0, 1}, 1, "torchrun"), "NCCL_IB_HCA"),
                Each("=mlx5_0:1,mlx5_2:1"));
}

TEST(PlanNcclHcas, NameAPortByItsNumber) {
    NodeTopology topology = two_socket_node({0}, {0, 0});
    topology.hcas[0].ports = {{2, State::active, Link::infiniband, 400}};
    topology.hcas[1].ports = {management};
    EXPECT_THAT(of_all(planned_with(topology, {0}, 1), "NCCL_IB_HCA"), Each("=mlx5_0:2"));
}

// What NCCL finds by itself it is not told.
TEST(PlanNcclHcas, AreNotSetWhereNoActivePortIsLeftOut) {
    struct Row {
        const char* title;
        HcaPort second;
    };
    const std::vector<Row> rows = {
        {"of the same network", {1, State::active, Link::infiniband, 400}},
        {"down", {1, State::down, Link::infiniband, 400}},
        {"down, of another network", {1, State::down, Link::ethernet, 25}},
        {"not known", {1, State::unknown, Link::ethernet, 25}},
    };
    for (const auto& row : rows) {
        NodeTopology topology = two_socket_node({0}, {0, 1});
        topology.hcas[1].ports = {row.second};
        EXPECT_THAT(of_all(planned_with(topology, {0}, 1), "NCCL_IB_HCA"), Each("-")) << row.title;
    }
}

// The node's network is EFA or Slingshot, which NCCL reaches through a plugin.
TEST(PlanNcclHcas, AreNotSetWithoutAnEligibleVerbsPort) {
    for (const HcaKind kind : {HcaKind::efa, HcaKind::slingshot}) {
        NodeTopology topology = two_socket_node({0}, {0, 1});
        topology.hcas[0].kind = kind;
        topology.hcas[1].ports = {management};
        EXPECT_THAT(of_all(planned_with(topology, {0}, 1), "NCCL_IB_HCA"), Each("-"));
    }
}

// NCCL reads the first 32 entries and drops the rest without a word.
TEST(PlanNcclHcas, AreAtMostThirtyTwo) {
    for (const std::uint32_t eligible : {32U, 33U}) {
        NodeTopology topology = two_socket_node({0}, std::vector<std::uint32_t>(eligible + 1, 0));
        topology.hcas[0].ports = {management};
        std::string expected = "-";
        if (eligible == 32) {
            expected = "=mlx5_1:1";
            for (int hca = 2; hca <= 32; ++hca) {
                expected += ",mlx5_" + std::to_string(hca) + ":1";
            }
        }
        EXPECT_THAT(of_all(planned_with(topology, {0}, 1), "NCCL_IB_HCA"), Each(expected));
    }
}

TEST(PlanUcxDevices, AreLeftToUcxWithoutAChoice) {
    NodeTopology topology = two_socket_node({0, 3}, {0, 3});
    EXPECT_THAT(of_all(planned_with(topology, {0, 1}, 2), "UCX_NET_DEVICES"),
                ElementsAre("mlx5_0:1", "mlx5_1:1"));
    // A task alone may use all of them, and so may the processes of a launcher.
    EXPECT_THAT(of_all(planned_with(topology, {0, 1}, 1), "UCX_NET_DEVICES"), Each("-"));
    EXPECT_THAT(of_all(planned_with(topology, {0, 1}, 1, "torchrun"), "UCX_NET_DEVICES"),
                Each("-"));
    topology.hcas[0].ports[0].state = State::down;
    EXPECT_THAT(of_all(planned_with(topology, {0, 1}, 2), "UCX_NET_DEVICES"), Each("-"));
    const NodeTopology none = two_socket_node({0, 3});
    EXPECT_THAT(of_all(planned_with(none, {0, 1}, 2), "UCX_NET_DEVICES"), Each("-"));
}

TEST(PlanInterface, IsToldInStepsOfSeveralNodes) {
    const NodeFacts node{.interface = "ib0"};
    const NodePlan two_nodes = planned("pytorch", layout("n[1-2]", {{0, 2, 2, 1}}), 1, node);
    EXPECT_THAT(of_all(two_nodes, "NCCL_SOCKET_IFNAME"), ElementsAre("=ib0", "=ib0"));
    EXPECT_THAT(of_all(two_nodes, "GLOO_SOCKET_IFNAME"), ElementsAre("ib0", "ib0"));
    // Tasks of one node may meet on the loopback.
    const NodePlan one_node = planned("pytorch", layout("n1", {{0, 1, 2, 1}}), 0, node);
    EXPECT_THAT(of_all(one_node, "NCCL_SOCKET_IFNAME"), Each("-"));
    EXPECT_THAT(of_all(one_node, "GLOO_SOCKET_IFNAME"), Each("-"));
}

// A node of which every network variable can be said.
NodeFacts full_node(const NodeTopology& topology) {
    NodeFacts node = bound_node(topology, everywhere(2), {0, 1});
    node.interface = "ib0";
    return node;
}

const Values& network_values() {
    static const Values values{{"NCCL_IB_HCA", "=mlx5_0:1,mlx5_1:1"},
                               {"UCX_NET_DEVICES", "mlx5_0:1"},
                               {"NCCL_SOCKET_IFNAME", "=ib0"},
                               {"GLOO_SOCKET_IFNAME", "ib0"}};
    return values;
}

NodeTopology with_management() {
    NodeTopology topology = two_socket_node({0, 3}, {0, 3, 0});
    topology.hcas[2].ports = {management};
    return topology;
}

TEST(PlanNetwork, IsLeftAloneWhereAsked) {
    const NodeTopology topology = with_management();
    const NodeFacts node = full_node(topology);
    for (const auto& [name, value] : network_values()) {
        EXPECT_EQ(of_all(planned_on("pytorch", node), name.c_str())[0], value) << name;
        EXPECT_EQ(of_all(planned_on("pytorch,bind=none,hcas=near", node), name.c_str())[0], value)
            << name;
        for (const char* spec : {"pytorch,hcas=keep", "pytorch,bind=none"}) {
            EXPECT_THAT(of_all(planned_on(spec, node), name.c_str()), Each("-"))
                << spec << " " << name;
        }
    }
}

TEST(PlanNetwork, EachVariableStaysWhereTheUserExportedIt) {
    const NodeTopology topology = with_management();
    NodeFacts node = full_node(topology);
    for (const auto& [exported, _] : network_values()) {
        node.exported = {exported};
        const NodePlan plan = planned_on("pytorch", node);
        for (const auto& [name, value] : network_values()) {
            EXPECT_EQ(of_all(plan, name.c_str())[0], name == exported ? "-" : value)
                << name << " where " << exported << " is exported";
        }
    }
}

constexpr const char* cuda = "CUDA_VISIBLE_DEVICES";
constexpr const char* rocr = "ROCR_VISIBLE_DEVICES";
constexpr const char* ze = "ZE_AFFINITY_MASK";

// Task 0 is near GPU 1, task 1 near GPU 0.
NodePlan plan_of(GpuVendor vendor, const std::vector<std::string>& variables, const char* spec) {
    NodeTopology topology = two_socket_node({2, 0});
    for (Gpu& gpu : topology.gpus) gpu.vendor = vendor;
    NodeFacts node = bound_node(topology, in_numas({0, 2}), {0, 1});
    node.gpu_names.variables = variables;
    return planned_on(spec, node);
}

// Both tasks' values of one variable.
using Pair = std::vector<std::string>;

struct Row {
    const char* title;
    std::vector<std::string> variables;
    Pair cuda, rocr, ze;
};

void expect_rows(GpuVendor vendor, const char* spec, const std::vector<Row>& rows) {
    for (const auto& row : rows) {
        const NodePlan plan = plan_of(vendor, row.variables, spec);
        EXPECT_EQ(of_all(plan, cuda), row.cuda) << row.title;
        EXPECT_EQ(of_all(plan, rocr), row.rocr) << row.title;
        EXPECT_EQ(of_all(plan, ze), row.ze) << row.title;
    }
}

const Pair untouched{"-", "-"};
const Pair permuted{"1,0", "1,0"};
const Pair own{"1", "0"};

TEST(PlanRuntimes, NvidiasReadCudasVariable) {
    expect_rows(GpuVendor::nvidia, "pytorch",
                {{"all set", {cuda, rocr, ze}, permuted, untouched, untouched},
                 {"another's alone", {rocr}, untouched, untouched, untouched},
                 {"none", {}, untouched, untouched, untouched}});
}

// HIP numbers anew what ROCR_VISIBLE_DEVICES leaves: in both, the order would be turned twice,
// and a number that Slurm set may be past those that are left.
TEST(PlanRuntimes, AmdsReadRocrsVariableFirst) {
    expect_rows(GpuVendor::amd, "pytorch",
                {{"both", {cuda, rocr}, {"0,1", "0,1"}, permuted, untouched},
                 {"ROCR's alone", {rocr}, untouched, permuted, untouched},
                 {"HIP's alone", {cuda}, permuted, untouched, untouched}});
    expect_rows(GpuVendor::amd, "pytorch,gpus=isolate",
                {{"both", {cuda, rocr}, {"0", "0"}, own, untouched}});
}

// Level Zero takes the mask for a set.
TEST(PlanRuntimes, IntelsHaveNoOrder) {
    expect_rows(GpuVendor::intel, "pytorch",
                {{"all set", {cuda, rocr, ze}, untouched, untouched, untouched}});
    expect_rows(GpuVendor::intel, "pytorch,gpus=isolate",
                {{"all set", {cuda, rocr, ze}, untouched, untouched, own},
                 {"another's alone", {cuda}, untouched, untouched, untouched}});
}

}  // namespace
}  // namespace distgpu::plan_testing
