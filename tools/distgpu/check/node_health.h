// `distgpu check --node`: whether this node still has the devices that it had when its topology was
// saved at boot, for slurmd's HealthCheckProgram and for prologs.
#pragma once

#include "base/result.h"
#include "check/gpus.h"
#include "mapping/topology/topology.h"
#include "node/machine.h"

#include <chrono>
#include <string>
#include <vector>

namespace distgpu {

// The longest that all of it takes: slurmd waits for a prolog, and runs a health check on all
// nodes.
inline constexpr std::chrono::milliseconds node_check_time{2000};

// What is wrong, each in a few words: "GPU 0000:3b:00.0 (H100): gone from the PCI bus". `saved`: at
// boot. GPUs and HCAs are looked for on the bus, device nodes are opened, and ports that were
// active then have to be so now.
std::vector<std::string> node_faults(const NodeTopology& saved, const MachineRoots& machine = {},
                                     const DeviceRoots& devices = {});

// All of them in one line, as Slurm takes a reason; empty: this node is well.
// Errors: no topology was saved since the boot. What did not end in time is a fault.
Result<std::string> check_own_node(const std::string& saved_topology);

}  // namespace distgpu
