// Which GPUs a rank may use and holds open, and how busy they are.
#pragma once

#include "base/environment.h"
#include "inspect/look.h"
#include "mapping/texts/variables.h"
#include "mapping/topology/topology.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace distgpu {

// Numbers count what the task could open: by what distgpu recorded, else by the node's GPUs, where
// the step has all of them. UUIDs name GPUs by themselves. `gpus`: in the order of PCI addresses,
// of which a GPU whose number is out of range tells its name alone.
std::vector<GpuFacts> named_gpus(const Environment& variables, const BoundRecord& bound,
                                 const NodeTopology& topology);

// The node's topology is looked up once, and only for ranks that name GPUs.
class NodeGpus {
  public:
    std::vector<GpuFacts> of(const Environment& variables, const BoundRecord& bound);

  private:
    std::optional<NodeTopology> topology_;
};

// "/dev/nvidia0", "/dev/dri/renderD128" among the files of a process, by name.
std::vector<std::string> open_gpu_files(pid_t pid);

using Busy = std::optional<std::uint32_t>;  // percent; nothing: not known

// How busy GPUs are, in their order, as NVIDIA's library tells it: `gpus` are PCI addresses. It is
// asked in a process of its own, `command why --gpus`: a driver that hangs keeps whoever asks it.
// Takes up to 2 s, and another where the driver keeps that process. `answers` becomes false where
// it did not end or found no library; then nobody is asked.
std::vector<Busy> ask_gpu_load(const std::vector<std::string>& gpus, const std::string& command,
                               bool& answers);

// In that process: "0000:06:00.0 97" for each GPU that the library knows; empty: it is not there.
std::string gpu_load_lines(const std::string& gpus, const std::string& library);

// Of these lines, in the order of the GPUs.
std::vector<Busy> parse_gpu_load(std::string_view lines, const std::vector<std::string>& gpus);

}  // namespace distgpu
