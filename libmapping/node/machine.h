// What this machine itself says of itself and its devices, beside hwloc: its name, and small files
// of /proc and /sys.
#pragma once

#include "base/result.h"
#include "mapping/topology/topology.h"
#include "mapping/topology/topology_json.h"

#include <string>

namespace distgpu {

// Where these file systems are mounted; tests give folders of their own.
struct MachineRoots {
    std::string proc = "/proc";
    std::string sys = "/sys";
    std::string run = "/run";
};

// gethostname(2); empty where it fails.
std::string host_name();

// host_name() up to its first dot.
std::string short_host_name();

// Errors: no boot id.
Result<MachineIdentity> machine_identity(const MachineRoots& roots = {});

// Reads every port's state, link layer and rate anew from /sys/class/infiniband (verbs and EFA) and
// /sys/class/net (Slingshot). A saved topology may be from before a link came up. What cannot be
// read becomes unknown; an HCA that is gone loses its ports.
void read_ports(NodeTopology& topology, const MachineRoots& roots = {});

}  // namespace distgpu
