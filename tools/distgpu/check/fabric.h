// Whether NCCL can use this node's InfiniBand (or RoCE) ports.
#pragma once

#include "base/environment.h"
#include "check/finding.h"
#include "check/gpus.h"
#include "mapping/topology/topology.h"

#include <cstdint>
#include <string>

namespace distgpu {

// What the kernel and the system libraries give this process.
struct FabricAccess {
    bool verbs_library = false;       // libibverbs.so.1 can be loaded
    std::uint64_t locked_memory = 0;  // bytes that may be locked; UINT64_MAX: without limit
};
FabricAccess fabric_access();

struct FabricCheck {
    std::string ports;  // "mlx5_0:1 400 Gb/s"; empty: NCCL falls back to sockets
    Findings findings;
};

// `topology`: null where it is not known: nothing is found then.
FabricCheck check_fabric(const Environment& environment, const NodeTopology* topology,
                         const FabricAccess& access, const DeviceRoots& roots = {});

}  // namespace distgpu
