// The network that NCCL takes on each made-up machine, without a plugin and with aws-ofi-nccl's.
#include "mapping/binding/binding.h"
#include "mapping/fabric/nccl_network.h"
#include "node/discovery/discover.h"

#include <gtest/gtest.h>

namespace distgpu::golden {
namespace {

std::string network_on(const NodeTopology& topology, const NetPlugin& plugin) {
    std::string ports;
    for (const PortRef port : rank_ports(topology)) {
        ports += (ports.empty() ? "" : " ") + port_name(topology, port);
    }
    return nccl_network(EnvironmentCopy(), {{plugin}, ports, {"eth0"}, &topology}).text;
}

TEST(MadeUpMachines, HaveTheNetworkOfTheTable) {
    const NetPlugin absent{.file = "libnccl-net.so", .problem = "not found", .is_missing = true};
    const NetPlugin ofi{.file = "libnccl-net.so", .name = "AWS Libfabric"};
    const std::string none = "sockets over eth0 (no InfiniBand or RoCE)";
    struct Row {
        const char* machine;
        std::string without;
        std::string with = "a network by libnccl-net.so (AWS Libfabric)";
    };
    const std::vector<Row> rows = {
        {"efa-8gpu", "sockets over eth0 (no plugin for EFA)",
         "EFA, by libnccl-net.so (AWS Libfabric)"},
        {"p5-efa", "sockets over eth0 (no plugin for EFA)",
         "EFA, by libnccl-net.so (AWS Libfabric)"},
        {"mi250x-ex235a", "sockets over eth0 (no plugin for Slingshot)",
         "Slingshot, by libnccl-net.so (AWS Libfabric)"},
        {"mi300a-tpx", "sockets over eth0 (no plugin for Slingshot)",
         "Slingshot, by libnccl-net.so (AWS Libfabric)"},
        // Grace Hopper, POWER9 and a cloud's virtual machine: InfiniBand or RoCE.
        {"gb200", "mlx5_0:1 mlx5_1:1 mlx5_2:1 mlx5_3:1"},
        {"roce-bond", "mlx5_bond_0:1"},
        {"coherent-gpu-numa", "mlx5_0:1 mlx5_1:1"},
        {"power9-4v100", "mlx5_0:1 mlx5_1:1 mlx5_2:1 mlx5_3:1"},
        {"one-socket-gpus", "mlx5_0:1"},
        // Two of its ports are down, and two are slow.
        {"h200-8numa", "mlx5_4:1 mlx5_5:1"},
        {"dgx2", none},
    };
    for (const Row& row : rows) {
        const auto machine =
            load_topology(std::string(DISTGPU_MACHINES "/") + row.machine + ".xml");
        ASSERT_TRUE(machine) << row.machine;
        EXPECT_EQ(network_on(*machine, absent), row.without) << row.machine;
        EXPECT_EQ(network_on(*machine, ofi), row.with) << row.machine;
    }
}

}  // namespace
}  // namespace distgpu::golden
