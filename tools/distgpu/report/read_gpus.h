// The process that reads a node's GPUs for its sampler (gpu_reading.h).
#pragma once

#include "base/result.h"

#include <string>

namespace distgpu {

// Answers each line of standard input, numbers of ranks' processes, by one line of JSON with the
// GPUs that they may use, until the input ends. NVIDIA's are read by `library`; AMD's by the files
// below `devices`, a folder such as /sys/bus/pci/devices.
ExitCode read_gpus(const std::string& library = "libnvidia-ml.so.1",
                   const std::string& devices = "/sys/bus/pci/devices");

}  // namespace distgpu
