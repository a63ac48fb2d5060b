// Warnings about valid but probably unintended step shapes, and launchers whose options do not
// agree with the step.
#pragma once

#include "mapping/binding/binding.h"
#include "mapping/frameworks/launchers.h"
#include "mapping/rendezvous/rendezvous.h"

namespace distgpu {

// How many processes a launcher starts on a node: nproc=, else one for each GPU, else one for each
// CPU.
std::uint32_t processes_on(const Request& request, const NodeFacts& node);

// Warnings about the step as a whole, which srun prints.
std::vector<Error> step_warnings(const StepView& step);

// Refuses a server if the node `node.node` has GPUs but the step did not ask for them: it would
// load no model, or end after a minute.
std::optional<Error> refuse_server_without_gpus(const StepView& step, const NodeFacts& node);

// Warnings about the node `node.node` of the step.
std::vector<Error> plan_warnings(const StepView& step, const NodeFacts& node);

// The launcher's options that do not fit the step as a whole, which srun prints or refuses.
std::vector<Mismatch> launcher_mismatches(const StepView& step, const RendezvousFacts& facts);

// The launcher's options that do not fit the node: the number of its processes, and the port.
std::vector<Mismatch> node_launcher_mismatches(const StepView& step, const NodeFacts& node,
                                               const Rendezvous& rendezvous);

}  // namespace distgpu
