#include "mapping/binding/network_values.h"

#include "base/format.h"
#include "mapping/frameworks/framework.h"
#include "mapping/topology/port_verdicts.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace distgpu {
namespace {

std::string port_name(const NodeTopology& topology, PortRef port) {
    const Hca& hca = topology.hcas[port.hca];
    return formatted("{}:{}", hca.name, hca.ports[port.port].number);
}

// The ports that NCCL would use, and whether it would use others too.
struct Fabric {
    std::vector<std::string> eligible;
    bool has_others = false;
};

Fabric fabric_of(const NodeTopology& topology) {
    Fabric fabric;
    const auto verdicts = port_verdicts(topology);
    for (std::uint32_t hca = 0; hca < verdicts.size(); ++hca) {
        if (topology.hcas[hca].kind != HcaKind::verbs) continue;
        for (std::uint32_t port = 0; port < verdicts[hca].size(); ++port) {
            if (verdicts[hca][port].eligible) {
                fabric.eligible.push_back(port_name(topology, {hca, port}));
            } else if (topology.hcas[hca].ports[port].state == HcaPort::State::active) {
                // NCCL itself leaves out ports that are not ACTIVE.
                fabric.has_others = true;
            }
        }
    }
    return fabric;
}

// Exact names: without '=' NCCL would take mlx5_1 for mlx5_10 as well.
std::string nccl_ib_hca(const Fabric& fabric) {
    constexpr std::size_t most = 32;  // MAX_IF of src/include/socket.h, NCCL 2.28
    if (!fabric.has_others || fabric.eligible.empty() || fabric.eligible.size() > most) return {};
    return formatted("={}", join(fabric.eligible, ","));
}

}  // namespace

void set_ports(const Request& request, const NodeFacts& node, const NodeBinding& binding,
               std::vector<DeviceValues>& values) {
    const Fabric fabric = fabric_of(*node.topology);
    // One task on the node may use all ports, and a launcher's processes would inherit one.
    const bool one_each =
        values.size() > 1 && !request.framework->launcher_per_node && fabric.eligible.size() > 1;
    for (std::size_t task = 0; task < values.size(); ++task) {
        values[task].nccl_ib_hca = nccl_ib_hca(fabric);
        if (!one_each) continue;
        values[task].ucx_net_devices = port_name(*node.topology, *binding.tasks[task].port);
    }
}

}  // namespace distgpu
