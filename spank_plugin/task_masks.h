// The CPU masks of a node's tasks in memory that all of them share. slurmstepd sets every task's
// affinity and then calls task_post_fork, before it releases the first of them into task_init
// (_fork_all_tasks in 22.05, 24.11 and 26.05): so each task finds the masks of all.
#pragma once

#include "mapping/topology/cpu_set.h"
#include "node/affinity.h"

#include <cstddef>
#include <sys/types.h>
#include <vector>

namespace distgpu {

// Lives as long as its process; the memory is given back with that.
class TaskMasks {
  public:
    // Before the tasks are forked. Without memory read() stays empty.
    void create(std::size_t tasks);

    // In slurmstepd, for each task. A mask that cannot be read stays empty.
    void record(std::size_t local_rank, pid_t task);

    // By local rank. Empty where any mask is missing.
    std::vector<CpuSet> read() const;

  private:
    KernelCpuSet* shared_ = nullptr;
    std::size_t tasks_ = 0;
};

}  // namespace distgpu
