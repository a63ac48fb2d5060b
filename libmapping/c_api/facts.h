// The facts of mapping.h as plan() takes them.
#pragma once

#include "base/result.h"
#include "mapping/plan/plan.h"

#include <distgpu/mapping.h>

#include <cstdint>

namespace distgpu::c_api {

struct PlanFacts {
    RendezvousFacts rendezvous;
    NodeFacts node;  // its topology is the one that the caller's facts point to
};

// Of a node with `tasks` tasks; NULL says nothing of it. plan()'s preconditions hold for them.
// Errors: a number is too large; not a mask for each task; a mask that is no list of CPUs or an
// empty one; GPUs that the topology does not have, or twice; not a name for each. Object: the
// field. As read_sized().
Result<PlanFacts> read_facts(const distgpu_facts* facts, std::uint32_t tasks);

}  // namespace distgpu::c_api
