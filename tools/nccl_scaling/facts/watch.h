// Looks at a rank's own part of its node when the run begins and when it ends: what was counted in
// between belongs to the run.
#pragma once

#include "base/result.h"
#include "facts/nvml_gpu.h"
#include "facts/port.h"
#include "facts/rank_facts.h"
#include "node/machine.h"

#include <optional>
#include <string>

namespace distgpu::scaling {

// What a rank has of its node.
struct Own {
    std::string gpu;   // how sentences call it: "GPU 3"
    std::string uuid;  // "GPU-..."; empty: host memory
    std::string port;  // see port_of_rank(); may be empty
};

class Watch {
  public:
    explicit Watch(Own own, MachineRoots roots = {});

    // Right after the copies of `rates`: see NvmlGpu::state().
    RankFacts end(const Result<Rates>& rates) const;

  private:
    Own own_;
    MachineRoots roots_;
    PortReading begin_;
    std::optional<NvmlGpu> gpu_;
};

}  // namespace distgpu::scaling
