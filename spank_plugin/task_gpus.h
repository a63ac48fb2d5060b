// The GPUs that Slurm bound to each task of this node. A task knows only its own, which it asks the
// kernel for; so each tells its siblings, in memory that they share.
#pragma once

#include "mapping/layout/ids.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace distgpu {

class TaskGpus {
  public:
    // Before the tasks are forked. Without memory nothing is ever known.
    void create(std::size_t tasks);

    // In a task: its GPUs, indices into NodeTopology::gpus. Empty: they are not known.
    void tell(LocalRank task, const std::vector<std::uint32_t>& gpus) const;

    // In a task: those of every task, by local rank, once all have told. Nothing: one does not know
    // its own, or did not tell in time, as one that a plugin refused.
    std::optional<std::vector<std::vector<std::uint32_t>>> of_all(
        std::chrono::milliseconds time_limit) const;

  private:
    struct Slot;
    Slot* slots_ = nullptr;
    std::size_t tasks_ = 0;
};

}  // namespace distgpu
