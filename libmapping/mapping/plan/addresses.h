// How the tasks of a step reach its nodes, where the framework names all of them.
#pragma once

#include "mapping/layout/hostlist.h"
#include "mapping/plan/step.h"
#include "mapping/request/request.h"

#include <string>

namespace distgpu {

// One for each node, in the form that the request chose, and of rank 0's node `rank0_address`,
// where that is not empty. Empty: the framework does not name them.
HostList addresses_of_nodes(const Request& request, const Step& step,
                            const std::string& rank0_address);

}  // namespace distgpu
