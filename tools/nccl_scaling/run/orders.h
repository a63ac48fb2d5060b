// --order: all ranks in the order of the nodes' names and in that of their switches, in turns.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "mapping/layout/hostlist.h"
#include "results/results.h"
#include "run/run.h"
#include "run/world.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace distgpu::scaling {

// By name: as in the job's `list`; by switch: as order=switch numbers them, by slurmctld's
// `topology` (scontrol show topology). Errors: one node, one that is not in the list, or none with
// a switch.
Result<OrderComparison> orders_of(const std::vector<Node>& nodes, const HostList& list,
                                  std::string_view topology);

// The same of the job's list and of what slurmctld tells: one RPC; gives up after 5 s. On rank 0.
Result<OrderComparison> find_orders(const std::vector<Node>& nodes, const Environment& environment);

// The run's ranks, node by node.
std::vector<std::uint32_t> ranks_in_order(const World& world,
                                          const std::vector<std::uint32_t>& nodes);

// As many rounds as iterations were asked for, each of one run in either order; which is first
// alternates. Every rank calls it. `orders`: those of rank 0 count, and are recorded. Orders that
// are the same are not measured.
std::optional<Fault> compare_orders(const Equipment& use, const World& world,
                                    OrderComparison orders, const Subject& operation,
                                    Measurer& measurer);

}  // namespace distgpu::scaling
