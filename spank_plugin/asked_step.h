// A step whose user asked for distgpu, as slurmstepd knows it before the tasks are forked.
#pragma once

#include "identity.h"
#include "layout_source.h"
#include "mapping/plan/step.h"
#include "mapping/spec/request.h"
#include "plugstack_arguments.h"
#include "spank_access.h"

#include <string>

namespace distgpu {

struct AskedStep {
    std::string spec;  // as the user wrote it
    Request request;   // with the administrator's defaults in it
    Identity identity;
    Step step;
    std::string own_address;  // NodeAddr of this node; empty: not known
    bool user_bound = false;  // the user gave srun --cpu-bind
};

// What plan() is told of the step, from its environment and from what srun sent with the layout;
// what srun did not send, from slurm.conf. In init_post_opt.
Step collect_step(spank_t spank, const Identity& identity, const Request& request,
                  const PlugstackArguments& arguments, FoundLayout found);

// NodeAddr of this node, from slurm.conf.
std::string own_address(const Identity& identity, const StepLayout& layout);

}  // namespace distgpu
