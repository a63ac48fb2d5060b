// Warnings about valid but probably unintended step shapes, and launchers whose options do not
// agree with the step.
#pragma once

#include "mapping/binding/binding.h"
#include "mapping/frameworks/launchers.h"
#include "mapping/rendezvous/rendezvous.h"

namespace distgpu {

// How many processes a launcher starts on a node: as asked for, else one for each GPU, else one for
// each CPU.
std::uint32_t processes_on(const Request& request, const NodeFacts& node);

// Warnings about the step as a whole, which srun prints.
std::vector<Error> step_warnings(const StepView& step);

// Refuses a server on the step's node `node.node`, which has GPUs, where nobody asked for them: it
// would load nothing, or end after a minute.
std::optional<Error> server_without_gpus(const StepView& step, const NodeFacts& node);

// Warnings about the step's node `node.node`.
std::vector<Error> plan_warnings(const StepView& step, const NodeFacts& node);

// The launcher's options that do not fit the step as a whole, which srun prints.
std::vector<Misfit> launcher_misfits(const StepView& step, const RendezvousFacts& facts);

// Those that only a node shows: the number of its processes, and the port.
std::vector<Misfit> launcher_misfits_on(const StepView& step, const NodeFacts& node,
                                        const Rendezvous& rendezvous);

}  // namespace distgpu
