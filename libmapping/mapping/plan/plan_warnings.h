// The traps of a first hour: legal shapes of a step that are seldom what was meant.
#pragma once

#include "mapping/plan/node_facts.h"
#include "mapping/spec/request.h"

#include <cstdint>
#include <string>
#include <vector>

namespace distgpu {

// Of a node with `local_tasks` tasks, each one line: what, and the remedy.
std::vector<std::string> plan_warnings(const Request& request, std::uint32_t local_tasks,
                                       const NodeFacts& node);

}  // namespace distgpu
