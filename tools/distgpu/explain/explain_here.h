// What each rank of a step on this node got, and what it has changed since.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "inspect/rank_facts.h"

#include <string>

namespace distgpu {

// `step` as list_step_processes() takes it. Where something is not known, the answer says so.
// `environment`: this process's. Takes up to some seconds where the topology is discovered. Error:
// owned_by_another().
Result<NodeFactsNow> explain_here(const std::string& node, const std::string& step,
                                  const Environment& environment);

}  // namespace distgpu
