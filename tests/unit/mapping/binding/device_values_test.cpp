// What the variables of GPUs and network devices say to a task: the parts that plan()'s tests do
// not reach, and the policy to which request and node come down.
#include "mapping/binding/device_values.h"

#include "mapping/binding/binding_policy.h"
#include "mapping/binding/visible_gpus.h"
#include "mapping/frameworks/framework.h"
#include "mapping/spec/parse_spec.h"
#include "two_socket_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

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
    using namespace gpu_policy;
    const NodeFacts ours{.confined = true};
    NodeFacts gpus_bound = ours;
    gpus_bound.share.bound = {{0}, {1}};
    const NodeTopology topology = two_socket_node({0, 3});
    NodeFacts unclear = ours;
    unclear.topology = &topology;
    unclear.gpu_names.unclear = "GPUs: nobody knows";
    const NodeFacts cpus_bound{.confined = true, .user_bound = true};
    struct Row {
        const char* title;
        const char* spec;
        NodeFacts node;
        BindingPolicy policy;
    };
    const std::vector<Row> rows = {
        {"by default", "pytorch", ours, {&near, true, true}},
        {"not confined", "pytorch", {}, {&near, false, true}},
        {"not confined, asked for", "pytorch,cpus=near", {}, {&near, false, true}},
        {"--cpu-bind", "pytorch", cpus_bound, {&near, false, true}},
        {"--cpu-bind, asked for", "pytorch,cpus=near", cpus_bound, {&near, true, true}},
        {"GPUs bound", "pytorch", gpus_bound, {&keep, true, true}},
        {"GPUs bound, asked for", "pytorch,gpus=isolate", gpus_bound, {&keep, true, true}},
        {"GPUs unclear", "pytorch", unclear, {&keep, false, true}},
        {"GPUs unclear, asked for", "pytorch,gpus=near,cpus=near", unclear, {&keep, false, true}},
        {"isolated", "pytorch,gpus=isolate", ours, {&isolate, true, true}},
        {"GPUs kept", "pytorch,gpus=keep", ours, {&keep, true, true}},
        {"CPUs kept", "pytorch,cpus=keep", ours, {&near, false, true}},
        {"HCAs kept", "pytorch,hcas=keep", ours, {&near, true, false}},
        {"all kept", "pytorch,bind=none", ours, {&keep, false, false}},
        {"all but the GPUs", "pytorch,bind=none,gpus=near", ours, {&near, false, false}},
        {"all but the CPUs", "pytorch,bind=none,cpus=near", ours, {&keep, true, false}},
        {"all but the HCAs", "pytorch,bind=none,hcas=near", ours, {&keep, false, true}},
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

// A launcher's processes inherit its variables: one port would be that of all of them.
TEST(DeviceValues, ALaunchersProcessesShareNoPort) {
    const TwoTasks step;
    for (const char* launcher : {"torchrun", "composer", "accelerate,per-node"}) {
        EXPECT_EQ(step.values(launcher, 2)[1].ucx_net_devices, "") << launcher;
    }
    EXPECT_EQ(step.values("pytorch", 2)[1].ucx_net_devices, "mlx5_1:1");
}

TEST(DeviceValues, WithoutABindingOnlyTheInterfaceIsKnown) {
    const TwoTasks step;
    const auto values = device_values(request("pytorch"), step.node, nullptr, 2, 2);
    ASSERT_EQ(values.size(), 2U);
    for (const DeviceValues& task : values) {
        EXPECT_EQ(task.interface, "eth0");
        EXPECT_EQ(task.cuda_visible_devices, "");
        EXPECT_EQ(task.ucx_net_devices, "");
    }
    EXPECT_EQ(device_values(request("pytorch"), step.node, nullptr, 2, 1)[0].interface, "");
}

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
    // Only CUDA knows that variable.
    for (Gpu& gpu : step.topology.gpus) gpu.vendor = GpuVendor::amd;
    step.node.gpu_names.variables = {"ROCR_VISIBLE_DEVICES"};
    EXPECT_EQ(step.values("pytorch", 1)[1].rocr_visible_devices, "0,1");
    EXPECT_EQ(both(step.values("pytorch", 1)[1]), " ");
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
                ElementsAre("CUDA_DEVICE_ORDER: your value gives the GPUs' numbers another meaning "
                            "than PCI_BUS_ID does, and the driver does not report the UUID of "
                            "every GPU; GPUs and CPUs stay as Slurm set them"));
    // Then the GPUs are not in the share.
    step.node.gpu_names.unclear = "GPUs: nobody knows";
    step.node.share.gpus = {};
    EXPECT_THAT(gpu_name_warnings(request("pytorch"), step.node),
                ElementsAre("GPUs: nobody knows; GPUs and CPUs stay as Slurm set them"));
}

TEST(GpuNameWarnings, AreSilentWhereNothingWasAskedForOrIsKnown) {
    TwoTasks step;
    EXPECT_THAT(gpu_name_warnings(request("pytorch"), step.node), IsEmpty());
    step.node.share.bound = {{0}, {1}};
    EXPECT_THAT(gpu_name_warnings(request("pytorch"), step.node), IsEmpty());
    const Request by_uuid = request("pytorch,gpu-ids=uuid");
    NodeFacts without_topology = step.node;
    without_topology.topology = nullptr;
    EXPECT_THAT(gpu_name_warnings(by_uuid, without_topology), IsEmpty());
    NodeFacts without_gpus = step.node;
    without_gpus.share.gpus = {};
    EXPECT_THAT(gpu_name_warnings(by_uuid, without_gpus), IsEmpty());
}

// Each has a remedy of its own, and both can hold at once.
TEST(GpuNameWarnings, SayWhyUuidsAreNotUsed) {
    TwoTasks step;
    for (Gpu& gpu : step.topology.gpus) gpu.uuid = "GPU-1";
    const Request by_uuid = request("pytorch,gpu-ids=uuid");
    EXPECT_THAT(gpu_name_warnings(by_uuid, step.node), IsEmpty());
    step.node.share.bound = {{0}, {1}};
    const std::string bound =
        "gpu-ids=uuid: Slurm bound the GPUs to the tasks and named them; use --gpus-per-node "
        "instead of --gpus-per-task and --gpu-bind";
    EXPECT_THAT(gpu_name_warnings(by_uuid, step.node), ElementsAre(bound));
    step.topology.gpus[0].uuid = "GPU-0";
    EXPECT_THAT(
        gpu_name_warnings(by_uuid, step.node),
        ElementsAre(
            "gpu-ids=uuid: the driver does not report the UUID of every GPU; using numbers instead",
            bound));
}

TEST(DeviceVariables, AreUnsetWithoutAValue) {
    const DeviceValues nothing;
    TaskContext task;
    for (const DeviceValues* devices : {&nothing, static_cast<const DeviceValues*>(nullptr)}) {
        task.devices = devices;
        for (const SetVariable& variable : device_variables()) {
            EXPECT_EQ(variable.value(task), std::nullopt) << variable.name;
        }
    }
}

TEST(DeviceVariables, AreEachOfOneField) {
    const DeviceValues values{.cuda_visible_devices = "0,1",
                              .cuda_device_order = "PCI_BUS_ID",
                              .rocr_visible_devices = "2",
                              .ze_affinity_mask = "3",
                              .nccl_ib_hca = "=mlx5_0:1",
                              .ucx_net_devices = "mlx5_1:1",
                              .interface = "ib0"};
    TaskContext task;
    task.devices = &values;
    std::vector<std::string> lines;
    for (const SetVariable& variable : device_variables()) {
        lines.push_back(std::string(variable.name) + "=" + *variable.value(task));
    }
    EXPECT_THAT(lines, ElementsAre("CUDA_VISIBLE_DEVICES=0,1", "CUDA_DEVICE_ORDER=PCI_BUS_ID",
                                   "ROCR_VISIBLE_DEVICES=2", "ZE_AFFINITY_MASK=3",
                                   "NCCL_IB_HCA==mlx5_0:1", "UCX_NET_DEVICES=mlx5_1:1",
                                   "NCCL_SOCKET_IFNAME==ib0", "GLOO_SOCKET_IFNAME=ib0"));
}

// Slurm sets the visible GPUs in every task: whether the user exported them cannot be told.
TEST(DeviceVariables, AreTheUsersButForTheVisibleGpus) {
    for (const SetVariable& variable : device_variables()) {
        EXPECT_EQ(variable.users_own, !variable.name.ends_with("_VISIBLE_DEVICES") &&
                                          variable.name != "ZE_AFFINITY_MASK")
            << variable.name;
    }
}

}  // namespace
}  // namespace distgpu
