// The GPUs of a step on this node: what Slurm says of them before the tasks, and what each task
// can open.
#pragma once

#include "base/environment.h"
#include "mapping/binding/node_facts.h"
#include "mapping/binding/step_gpus.h"
#include "node/gpu_ownership.h"
#include "task_gpus.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace distgpu {

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
