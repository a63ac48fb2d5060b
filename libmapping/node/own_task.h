// The step that this process is a task of, and the plan of its node, without SPANK: as far as
// Slurm's variables, or another launcher's, and the machine itself tell them.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "mapping/plan/plan.h"
#include "node/collect.h"
#include "node/place.h"

namespace distgpu {

struct OwnTask {
    Request request;
    Place place;
    OwnNode node;
    NodeFacts facts;  // points to the node's topology
    NodePlan plan;

    const TaskPlan& task() const { return plan.tasks[place.local.value]; }
};

// The masks in Slurm's list "0x3,0xC", one for each of `tasks`; empty: another number, or text.
std::vector<CpuSet> parse_masks(std::string_view list, std::size_t tasks);

// The path of this program itself.
std::string own_command();

// Why a step is not one that can be prepared: the same for all its processes. `program`: the
// command line that they have in common; empty: not known.
std::optional<Error> refused(const Request& request, const Place& place,
                             const Environment& environment,
                             const std::vector<std::string>& program = {});

// Puts the nodes into the order that the request asks for, unless what prepared the step did so.
// Returns what to say of it; empty: nothing. Each task asks and reads for itself.
// Errors: as put_in_order() and read_order_list(); who started it does not name the nodes; too many
// tasks would ask slurmctld.
Result<std::string> order_nodes(const Request& request, Place& place,
                                const Environment& environment);

// As plan(). Looks up names and may discover the topology, which takes up to 5 s.
// Precondition: not refused.
Result<OwnTask> plan_own_task(Request request, Place place, const Environment& environment,
                              const std::vector<std::string>& program = {});

}  // namespace distgpu
