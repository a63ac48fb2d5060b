// The topologies that --topology names, of all nodes or of some.
#pragma once

#include "base/result.h"
#include "mapping/layout/step_layout.h"
#include "plan/shape.h"

#include <string>
#include <vector>

namespace distgpu {

// Each of `values` is FILE, for all nodes, or NODES=FILE, in any order; a later one wins.
// Errors: a file that is no topology, nodes that the step does not have.
Result<StepTopologies> load_topologies(const std::vector<std::string>& values,
                                       const StepLayout& layout);

}  // namespace distgpu
