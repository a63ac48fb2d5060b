// Node lists that say in which order the nodes of a step get the framework's ranks.
#pragma once

#include "base/result.h"
#include "mapping/layout/hostlist.h"
#include "mapping/layout/ids.h"

#include <string_view>
#include <vector>

namespace distgpu {

// The step's nodes in the order of `list`. Errors (object: `source`): the list names a node twice
// or one that is not the step's, or lacks one.
Result<std::vector<NodeIndex>> order_of(std::string_view source, const HostList& nodes,
                                        const HostList& list);

}  // namespace distgpu
