// Whether the GPUs that Slurm gave a task can be opened.
#pragma once

#include "base/environment.h"
#include "check/finding.h"
#include "mapping/topology/topology.h"

#include <cstdint>
#include <string>

namespace distgpu {

// Tests give folders of their own.
struct DeviceRoots {
    std::string dev = "/dev";
    std::string sys = "/sys";
};

// How many GPUs the task was given, as its variables have it.
std::uint32_t given_gpus(const Environment& environment);

// Opens the device nodes of the task's GPUs (NVIDIA: /dev/nvidiaN and nvidiactl, AMD: kfd and the
// GPU's DRM render node, Intel: the render node), which a broken driver may delay.
// `topology`: null where it is not known; Slurm's numbers are then taken for those of the nodes.
Findings check_gpus(const Environment& environment, const NodeTopology* topology,
                    const DeviceRoots& roots = {});

}  // namespace distgpu
