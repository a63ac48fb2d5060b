// What plan() is told of the step as a whole, the same on every node.
#pragma once

#include "mapping/frameworks/framework.h"
#include "mapping/layout/step_layout.h"
#include "mapping/rendezvous/rendezvous.h"

namespace distgpu {

struct Step {
    StepLayout layout;
    StepFacts facts{};
    RendezvousFacts rendezvous{};
};

}  // namespace distgpu
