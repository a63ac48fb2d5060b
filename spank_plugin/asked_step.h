// A step whose user asked for distgpu, as slurmstepd knows it before the tasks are forked.
#pragma once

#include "base/environment_copy.h"
#include "failure.h"
#include "file_root.h"
#include "identity.h"
#include "mapping/plan/step.h"
#include "mapping/request/request.h"
#include "mapping/texts/sent_step.h"
#include "slurm/plugstack_arguments.h"
#include "spank_access.h"

#include <tl/expected.hpp>

#include <optional>
#include <string>
#include <vector>

namespace distgpu {

struct AskedStep {
    std::string spec;  // as the user wrote it
    Request request;   // with the administrator's defaults in it
    Identity identity;
    Step step;
    SentStep sent;              // by srun; its layout is the step's
    bool told_by_srun = false;  // what `verbose` says of the step as a whole
    std::string own_address;    // NodeAddr of this node; empty: not known
    // Where this component can stand in the step; one, where it is not heterogeneous.
    std::vector<ComponentOffset> offsets;
    std::string command;     // of distgpu, on this node
    EnvironmentCopy launch;  // what a container may replace
    FileRoot root{};         // outside any container, as init_post_opt sees it
};

// From the step's environment, from what srun sent with the layout, and from slurm.conf what srun
// did not send. In user_init. `answer`: that of ask_for_layout().
// Errors: as read_sent_step() and find_layout(); srun has refused the step.
tl::expected<AskedStep, Failure> collect_asked_step(spank_t spank, const Identity& identity,
                                                    Request request, std::string spec,
                                                    const PlugstackArguments& arguments,
                                                    std::optional<Result<StepLayout>> answer);

}  // namespace distgpu
