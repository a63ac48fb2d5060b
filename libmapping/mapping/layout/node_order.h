// Node lists that say in which order the nodes of a step get the framework's ranks.
#pragma once

#include "base/result.h"
#include "mapping/layout/hostlist.h"
#include "mapping/layout/ids.h"
#include "mapping/layout/step_layout.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace distgpu {

// The nodes by their names, for who looks many up: HostList::find() goes through all ranges. Of a
// name that stands there twice, the first.
std::unordered_map<std::string, NodeIndex> by_name(const HostList& nodes);

// The step's nodes in the order of `list`. Errors (object: `source`): the list names a node twice
// or one that is not the step's, or lacks one.
Result<std::vector<NodeIndex>> order_of(std::string_view source, const HostList& nodes,
                                        const HostList& list);

// The order of a layout's nodes as a list; empty: it has none.
std::string order_text(const StepLayout& layout);

// The same layout in such an order. Errors: as order_of() and StepLayout::with_order(), and a text
// that is no list of so many hosts.
Result<StepLayout> in_order(const StepLayout& layout, std::string_view text);

}  // namespace distgpu
