// Whether the options that the user gave a launcher agree with the step in which it runs.
#pragma once

#include "mapping/binding/node_facts.h"
#include "mapping/frameworks/launchers.h"
#include "mapping/rendezvous/rendezvous.h"

#include <vector>

namespace distgpu {

// Those that the step as a whole shows, for srun to say.
std::vector<Misfit> launcher_misfits(const StepView& step, const RendezvousFacts& facts);

// Those that only a node shows: the number of its processes, and the port.
std::vector<Misfit> launcher_misfits_on(const StepView& step, const NodeFacts& node,
                                        const Rendezvous& rendezvous);

}  // namespace distgpu
