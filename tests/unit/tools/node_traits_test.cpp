// What is read of a node for the comparison.
#include "check/checks.h"
#include "made_up_folder.h"
#include "map_environment.h"

#include <gtest/gtest.h>

#include <string>

namespace distgpu {
namespace {

std::string value_of(const std::vector<NodeTrait>& traits, const std::string& name) {
    for (const NodeTrait& trait : traits) {
        if (trait.name == name) return trait.value;
    }
    return "no such trait";
}

TEST(NodeTraits, DevicesInTheirOrder) {
    NodeTopology node;
    EXPECT_EQ(value_of(device_traits(&node), "GPUs"), "none");
    for (const char* model : {"H100", "H100", "", "H100"}) node.gpus.emplace_back().model = model;
    EXPECT_EQ(value_of(device_traits(&node), "GPUs"), "2 x H100, 1 x unknown model, 1 x H100");
    Hca hca;
    hca.name = "mlx5_0";
    hca.ports = {{1, HcaPort::State::active, HcaPort::Link::infiniband, 400},
                 {2, HcaPort::State::down, HcaPort::Link::infiniband, 400}};
    node.hcas = {hca};
    EXPECT_EQ(value_of(device_traits(&node), "HCA ports"), "mlx5_0:1 400 Gb/s, mlx5_0:2 down");
    EXPECT_TRUE(device_traits(nullptr).empty());
}

TEST(NodeTraits, FirmwareAndDriver) {
    const MadeUpFolder folder;
    folder.write("sys/class/infiniband/mlx5_0/fw_ver", "28.39.1002\n");
    folder.write("proc/driver/nvidia/version",
                 "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release "
                 "Build\nGCC version: 12\n");
    const MachineRoots roots{folder.path("proc"), folder.path("sys"), folder.path("run")};
    NodeTopology node;
    node.hcas.resize(1);
    node.hcas[0].name = "mlx5_0";
    EXPECT_EQ(value_of(device_traits(&node, roots), "HCA firmware"), "28.39.1002");
    EXPECT_EQ(value_of(system_traits(roots), "NVIDIA driver"), "550.54.15");
    EXPECT_EQ(value_of(system_traits({"/nowhere", "/nowhere", "/nowhere"}), "NVIDIA driver"),
              "none");
    EXPECT_NE(value_of(system_traits(roots), "kernel"), "");
}

TEST(NodeTraits, VariablesThatDistgpuDidNotSet) {
    MapEnvironment environment;
    TaskPlan task;
    EXPECT_EQ(communication_trait(environment, task).value, "none");
    environment.set("NCCL_DEBUG", "INFO");
    environment.set("GLOO_SOCKET_IFNAME", "eth0");
    environment.set("UCX_TLS", "tcp");
    environment.set("HOME", "/");
    task.set = {{"GLOO_SOCKET_IFNAME", "eth0"}};
    EXPECT_EQ(communication_trait(environment, task).value, "NCCL_DEBUG=INFO UCX_TLS=tcp");
}

}  // namespace
}  // namespace distgpu
