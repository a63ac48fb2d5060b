// What binding needs to know of a step on this node, collected where each part can be had: the
// topology before the tasks are forked, their masks as Slurm sets them, and a task's own GPUs in
// its own process.
#pragma once

#include "base/environment_copy.h"
#include "base/result.h"
#include "mapping/plan/plan.h"
#include "node/collect.h"
#include "node/node_topology.h"
#include "node/task_facts.h"
#include "slurm/plugstack_arguments.h"
#include "spank_access.h"

#include <cstddef>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace distgpu {

class StepBinding {
  public:
    // user_init. `request` has the administrator's defaults in it. Returns what went wrong, where
    // the step is left as Slurm binds it.
    std::vector<Error> before_tasks(spank_t spank, const Request& request,
                                    const PlugstackArguments& arguments, std::size_t tasks,
                                    const std::string& address);

    // task_post_fork, in slurmstepd.
    void task_forked(spank_t spank);

    // task_init: of this task. `launch`: what a container may have replaced.
    NodeFacts facts_of(spank_t spank, const EnvironmentCopy& launch, LocalRank task) const;

  private:
    bool is_confined(spank_t spank, const SlurmShare& share) const;

    OwnNode node_;
    TaskMasks masks_;
    StepGpuFacts gpus_;
    std::optional<TopologySource> silent_;  // its discovery did not end, which is not yet noted
    uid_t user_ = 0;
};

}  // namespace distgpu
