// Whether NCCL can use this node's InfiniBand (or RoCE) ports.
#pragma once

#include "check/gpus.h"
#include "check/named_check.h"
#include "mapping/topology/topology.h"

#include <cstdint>

namespace distgpu {

// What the kernel and the system libraries give this process.
struct FabricAccess {
    bool verbs_library = false;       // libibverbs.so.1 can be loaded
    std::uint64_t locked_memory = 0;  // bytes that may be locked; UINT64_MAX: without limit
};
FabricAccess fabric_access();

// Without a port that NCCL can use it falls back to sockets.
CheckResult check_fabric(const NodeTopology& topology, const FabricAccess& access,
                         const DeviceRoots& roots = {});

}  // namespace distgpu
