// What of a node distgpu binds: what the request and the node's facts come down to.
#pragma once

#include "mapping/binding/binding.h"
#include "mapping/binding/node_facts.h"
#include "mapping/request/request.h"

namespace distgpu {

BindingPolicy binding_policy(const Request& request, const NodeFacts& node);

// Why it is not clear which GPUs the step's numbers name; empty: it is. Precondition: the node's
// topology is known.
std::string unclear_gpus(const NodeFacts& node);

// Whether every GPU of the step can be named by its UUID, and whether a number means the one that
// PCI_BUS_ID gives it. Precondition as above.
bool all_have_uuids(const NodeFacts& node);
bool numbers_follow_pci(const NodeFacts& node);

// Whether the plan of such a request depends on a topology; finding one may take its time.
bool needs_topology(const Request& request);

}  // namespace distgpu
