// The GPUs that a rank may use or has open, and how busy they are.
#pragma once

#include "base/environment.h"
#include "inspect/node_sample.h"
#include "mapping/texts/variables.h"
#include "mapping/topology/topology.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace distgpu {

// The GPUs that a process's variables name, such as CUDA_VISIBLE_DEVICES. Numbers count the GPUs
// that the task may open: those that distgpu recorded in `bound`, or else all GPUs of the node, if
// the step has all of them. A GPU that is not found, such as a number out of range, gets only its
// name. Empty if CUDA_VISIBLE_DEVICES hides all GPUs.
std::vector<GpuFacts> named_gpus(const Environment& variables, const BoundRecord& bound,
                                 const NodeTopology& topology);

// Same as named_gpus(), with this node's topology, which is discovered once, and only if needed.
class NodeGpus {
  public:
    std::vector<GpuFacts> find(const Environment& variables, const BoundRecord& bound);

  private:
    std::optional<NodeTopology> topology_;
};

// "/dev/nvidia0", "/dev/dri/renderD128" among the open files of a process, sorted.
std::vector<std::string> open_gpu_files(pid_t pid);

using GpuLoad = std::optional<std::uint32_t>;  // percent; nullopt if unknown

// The load of each GPU from NVIDIA's library. `gpus`: PCI addresses. Runs `command why --gpus`,
// because a driver that hangs blocks the process that calls it. Takes up to 2 s, and another second
// if the driver blocks that process. Sets `can_read` to false if it did not end or found no
// library; later calls then return at once.
std::vector<GpuLoad> read_gpu_load(const std::vector<std::string>& gpus, const std::string& command,
                                   bool& can_read);

// What that process prints: "0000:06:00.0 97" per GPU; empty without NVIDIA's library.
std::string gpu_load_lines(const std::string& gpus, const std::string& library);

// Parses these lines; in the order of `gpus`.
std::vector<GpuLoad> parse_gpu_load(std::string_view lines, const std::vector<std::string>& gpus);

}  // namespace distgpu
