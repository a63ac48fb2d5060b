// What of a node distgpu binds: what the request and the node's facts come down to.
#pragma once

#include "mapping/binding/binding.h"
#include "mapping/plan/node_facts.h"
#include "mapping/spec/request.h"

namespace distgpu {

BindingPolicy binding_policy(const Request& request, const NodeFacts& node);

// Whether the plan of such a request depends on a topology; finding one may take its time.
bool needs_topology(const Request& request);

}  // namespace distgpu
