// The only task of a step on node n1, and its plan.
#pragma once

#include "mapping/plan/plan_testing.h"
#include "node/own_task.h"

#include <cstdint>
#include <string>
#include <vector>

namespace distgpu {

inline OwnTask made_up_task(const std::string& spec, std::uint16_t port) {
    const StepLayout layout = plan_testing::layout("n1", {{0, 1, 1, 1}});
    const ProcessPlace place{Launcher::slurm, layout, {}, {}, {}, true};
    OwnTask own{*parse_spec("SPEC", spec), place, {}, {}, {}};
    own.plan.rendezvous = {"n1", port, PortSource::key};
    own.plan.tasks.resize(1);
    own.plan.tasks[0].set = {{"RANK", "0"}};
    own.plan.tasks[0].unset = {"PET_*"};
    return own;
}

}  // namespace distgpu
