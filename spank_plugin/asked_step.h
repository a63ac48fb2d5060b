// A step whose user asked for distgpu, as slurmstepd knows it before the tasks are forked.
#pragma once

#include "base/environment_copy.h"
#include "file_root.h"
#include "identity.h"
#include "layout_source.h"
#include "mapping/plan/step.h"
#include "mapping/request/request.h"
#include "slurm/plugstack_arguments.h"
#include "spank_access.h"

#include <cstdint>
#include <string>
#include <vector>

namespace distgpu {

struct AskedStep {
    std::string spec;  // as the user wrote it
    Request request;   // with the administrator's defaults in it
    Identity identity;
    Step step;
    std::string own_address;    // NodeAddr of this node; empty: not known
    bool user_bound = false;    // the user gave srun --cpu-bind
    std::uint32_t gpus = 0;     // srun --gpus, of all nodes together; 0: not given
    bool told_by_srun = false;  // what `verbose` says of the step as a whole
    // Where this component can stand in the step; one, where it is not heterogeneous.
    std::vector<ComponentOffset> offsets;
    std::string command;     // of distgpu, on this node
    EnvironmentCopy launch;  // what a container may replace
    FileRoot root;           // outside any container
};

// From the step's environment, from what srun sent with the layout, and from slurm.conf what srun
// did not send. In init_post_opt.
AskedStep collect_asked_step(spank_t spank, const Identity& identity, Request request,
                             std::string spec, const PlugstackArguments& arguments,
                             FoundLayout found);

}  // namespace distgpu
