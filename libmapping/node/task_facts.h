// The CPUs and GPUs of each task of this node: what Slurm says before the tasks, what each task can
// open, and the memory in which they tell each other.
#pragma once

#include "base/environment.h"
#include "mapping/binding/node_facts.h"
#include "mapping/binding/step_gpus.h"
#include "mapping/layout/ids.h"
#include "mapping/topology/cpu_set.h"
#include "node/affinity.h"
#include "node/gpu_ownership.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace distgpu {

// slurmstepd sets every task's affinity and then calls task_post_fork, before it releases the first
// of them into task_init (_fork_all_tasks in 22.05, 24.11 and 26.05): so each task finds the masks
// of all. Lives as long as its process; the memory is given back with that.
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

// The GPUs that Slurm bound to each task. A task knows only its own, which it asks the kernel for;
// so each tells its siblings.
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

class StepGpuFacts {
  public:
    // user_init: what Slurm set for the whole step, before it binds GPUs to tasks, and before a
    // container brings variables of its own. `numbering`: nothing where Slurm does not tell.
    void before_tasks(const Environment& step, std::size_t tasks,
                      std::optional<Numbering> numbering);

    // task_init. Precondition: facts.topology is not null.
    void add_to(NodeFacts& facts, const Environment& task_environment, LocalRank task) const;

  private:
    Result<StepGpus> gpus_of_task(const NodeTopology& topology, const std::string& visible) const;
    void add_bound(NodeFacts& facts, const StepGpus& own) const;

    bool shared_ = false;  // with other jobs
    std::optional<Numbering> numbering_;
    std::vector<std::string> variables_;
    std::string visible_;
    TaskGpus task_gpus_;
};

}  // namespace distgpu
