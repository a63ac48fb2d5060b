// Whether an earlier job's process still holds the memory of the task's GPUs.
#pragma once

#include "base/environment.h"
#include "check/finding.h"
#include "mapping/topology/topology.h"

#include <string>

namespace distgpu {

// Asks NVIDIA's library (NVML) for the GPUs that the task's variables name by number. A GPU of
// which more than a tenth is in use before the program starts is a finding; the driver itself takes
// less. GPUs that several jobs share are not looked at.
Findings check_gpu_memory(const Environment& environment, const NodeTopology& topology,
                          const std::string& library = "libnvidia-ml.so.1");

}  // namespace distgpu
