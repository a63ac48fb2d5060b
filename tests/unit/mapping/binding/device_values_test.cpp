// What the variables of GPUs and network devices say to a task: the parts that plan()'s tests do
// not reach, and the policy to which request and node come down.
#include "mapping/binding/device_values.h"

#include "mapping/spec/parse_spec.h"
#include "two_socket_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace distgpu {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Request request(const char* spec) {
    auto result = parse_spec("--distgpu", spec);
    EXPECT_TRUE(result) << spec;
    return result ? *std::move(result) : Request{};
}

TEST(BindingPolicyOf, FollowsTheKeysAndWhatSlurmDid) {
    using enum GpuPolicy;
    const NodeFacts ours{.is_confined = true};
    NodeFacts slurm_binds_gpus = ours;
    slurm_binds_gpus.share.task_gpus = {{0}, {1}};
    const NodeTopology topology = two_socket_node({0, 3});
    NodeFacts unclear = ours;
    unclear.topology = &topology;
    unclear.gpu_names.ambiguity = "GPUs: nobody knows";
    const NodeFacts cpus_bound{.is_confined = true, .has_cpu_bind = true};
    struct Row {
        const char* title;
        const char* spec;
        NodeFacts node;
        BindingPolicy policy;
    };
    const std::vector<Row> rows = {
        {"by default", "pytorch", ours, {near, true, true}},
        {"not confined", "pytorch", {}, {near, false, true}},
        {"not confined, asked for", "pytorch,cpus=near", {}, {near, false, true}},
        {"--cpu-bind", "pytorch", cpus_bound, {near, false, true}},
        {"--cpu-bind, asked for", "pytorch,cpus=near", cpus_bound, {near, true, true}},
        {"GPUs bound", "pytorch", slurm_binds_gpus, {keep, true, true}},
        {"GPUs bound, asked for", "pytorch,gpus=isolate", slurm_binds_gpus, {keep, true, true}},
        {"GPUs unclear", "pytorch", unclear, {keep, false, true}},
        {"GPUs unclear, asked for", "pytorch,gpus=near,cpus=near", unclear, {keep, false, true}},
        {"isolated", "pytorch,gpus=isolate", ours, {isolate, true, true}},
        {"GPUs kept", "pytorch,gpus=keep", ours, {keep, true, true}},
        {"CPUs kept", "pytorch,cpus=keep", ours, {near, false, true}},
        {"HCAs kept", "pytorch,hcas=keep", ours, {near, true, false}},
        {"all kept", "pytorch,bind=none", ours, {keep, false, false}},
        {"all but the GPUs", "pytorch,bind=none,gpus=near", ours, {near, false, false}},
        {"all but the CPUs", "pytorch,bind=none,cpus=near", ours, {keep, true, false}},
        {"all but the HCAs", "pytorch,bind=none,hcas=near", ours, {keep, false, true}},
    };
    for (const auto& row : rows) {
        EXPECT_EQ(binding_policy(request(row.spec), row.node), row.policy) << row.title;
    }
}

// Two tasks on a node with a GPU and an HCA for each.
struct TwoTasks {
    TwoTasks() {
        node.topology = &topology;
        node.share.masks = {CpuSet::range(0, 31), CpuSet::range(0, 31)};
        node.share.gpus = {0, 1};
        node.gpu_names.names = {"0", "1"};
        node.gpu_names.variables = {"CUDA_VISIBLE_DEVICES"};
        node.interface = "eth0";
    }

    std::vector<DeviceValues> values(const char* spec, std::uint32_t step_nodes) const {
        const Request asked = request(spec);
        const NodeBinding binding = bind(topology, binding_policy(asked, node), node.share);
        return device_values(asked, node, &binding, 2, step_nodes);
    }

    NodeTopology topology = two_socket_node({0, 3}, {0, 3});
    NodeFacts node;
};

TEST(DeviceValues, AStepWithoutGpusHasItsPortsAllTheSame) {
    TwoTasks step;
    step.topology.hcas[1].ports.push_back({2, HcaPort::State::active, HcaPort::Link::ethernet, 25});
    step.node.share.gpus = {};
    step.node.gpu_names.names = {};
    const auto values = step.values("pytorch", 2);
    EXPECT_EQ(values[0].cuda_visible_devices, "");
    EXPECT_EQ(values[0].nccl_ib_hca, "=mlx5_0:1,mlx5_1:1");
    EXPECT_EQ(values[1].ucx_net_devices, "mlx5_1:1");
}

// By default CUDA counts the fastest GPU first: a number goes with the order that it means.
TEST(DeviceValues, ANumberGoesWithItsOrder) {
    TwoTasks step;
    for (std::uint32_t gpu : {0U, 1U})
        step.topology.gpus[gpu].uuid = "GPU-" + std::to_string(gpu + 1);
    const auto both = [](const DeviceValues& task) {
        return task.cuda_visible_devices + " " + task.cuda_device_order;
    };
    EXPECT_EQ(both(step.values("pytorch", 1)[1]), "0,1 PCI_BUS_ID");
    EXPECT_EQ(both(step.values("pytorch,gpus=isolate", 1)[1]), "1 PCI_BUS_ID");
    EXPECT_EQ(both(step.values("pytorch,gpu-ids=uuid", 1)[1]), "GPU-1,GPU-2 ");
    EXPECT_EQ(both(step.values("pytorch,gpus=keep", 1)[1]), " ");
    // A UUID means the same in the order that the user chose.
    step.node.gpu_names.in_pci_order = false;
    EXPECT_EQ(both(step.values("pytorch", 1)[1]), "GPU-1,GPU-2 ");
    step.topology.gpus[1].uuid.clear();
    EXPECT_EQ(both(step.values("pytorch", 1)[1]), " ");
    // Only CUDA knows the order.
    for (Gpu& gpu : step.topology.gpus) gpu.vendor = GpuVendor::amd;
    // HIP, which reads it too, numbers anew what the other one leaves.
    step.node.gpu_names.variables = {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"};
    step.node.gpu_names.names = {"4", "5"};
    const DeviceValues of_both = step.values("pytorch", 1)[1];
    EXPECT_EQ(of_both.rocr_visible_devices, "4,5");
    EXPECT_EQ(both(of_both), "0,1 ");
}

TEST(GpuNameWarnings, SayWhyItIsUnclearWhichGpusTheyAre) {
    TwoTasks step;
    step.node.gpu_names.in_pci_order = false;
    EXPECT_THAT(gpu_name_warnings(request("pytorch,gpu-ids=uuid"), step.node),
                ElementsAre("CUDA_DEVICE_ORDER: your value numbers the GPUs differently from "
                            "PCI_BUS_ID, and the driver does not report the UUID of every GPU; "
                            "GPUs and CPUs stay as Slurm set them"));
    // Then the GPUs are not in the share.
    step.node.gpu_names.ambiguity = "GPUs: nobody knows";
    step.node.share.gpus = {};
    EXPECT_THAT(gpu_name_warnings(request("pytorch"), step.node),
                ElementsAre("GPUs: nobody knows; GPUs and CPUs stay as Slurm set them"));
}

TEST(GpuNameWarnings, AreSilentWhereNothingWasAskedForOrIsKnown) {
    TwoTasks step;
    EXPECT_THAT(gpu_name_warnings(request("pytorch"), step.node), IsEmpty());
    step.node.share.task_gpus = {{0}, {1}};
    EXPECT_THAT(gpu_name_warnings(request("pytorch"), step.node), IsEmpty());
    const Request by_uuid = request("pytorch,gpu-ids=uuid");
    NodeFacts without_topology = step.node;
    without_topology.topology = nullptr;
    EXPECT_THAT(gpu_name_warnings(by_uuid, without_topology), IsEmpty());
    NodeFacts without_gpus = step.node;
    without_gpus.share.gpus = {};
    EXPECT_THAT(gpu_name_warnings(by_uuid, without_gpus), IsEmpty());
}

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
    const char* const none = "the task cannot open any of those that Slurm gave it";
    const std::vector<Row> rows = {
        {Numbering::opened, std::nullopt, "0,1",
         "the driver does not report which device file belongs to which GPU"},
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
