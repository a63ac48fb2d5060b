// Which GPUs of the node a rank's variables name, and which it holds open.
#pragma once

#include "base/environment.h"
#include "inspect/rank_facts.h"
#include "mapping/texts/bound_record.h"
#include "mapping/topology/topology.h"

#include <optional>
#include <string>
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

}  // namespace distgpu
