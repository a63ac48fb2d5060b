// Which HCA ports the ranks of a node should use.
#pragma once

#include "mapping/topology/topology.h"

#include <string>
#include <vector>

namespace distgpu {

// Whether ranks should use a port, and why not: for one port of one HCA.
struct PortVerdict {
    bool eligible = false;
    std::string why;  // "down"; empty where eligible

    bool operator==(const PortVerdict&) const = default;
};

// [hca][port]. Eligible: the port is ACTIVE, at least half as fast as the node's fastest one, and
// not Ethernet beside InfiniBand. A management NIC and a storage network fail this.
std::vector<std::vector<PortVerdict>> port_verdicts(const NodeTopology& topology);

}  // namespace distgpu
