// The task that this process is, with the plan of its node, without SPANK: derived from the
// variables of Slurm or another launcher and from the machine.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "mapping/plan/plan.h"
#include "node/plan_inputs.h"
#include "node/process_place.h"

namespace distgpu {

struct OwnTask {
    Request request;
    ProcessPlace place;
    OwnNode node;
    NodeFacts facts;  // points to the node's topology
    NodePlan plan;

    const TaskPlan& task() const { return plan.tasks[place.local.value]; }
};

// The masks in Slurm's list "0x3,0xC". Empty if they are not exactly `tasks` valid masks.
std::vector<CpuSet> parse_masks(std::string_view list, std::size_t tasks);

// The path of this executable; "distgpu" if /proc does not show it.
std::string own_program_path();

// Why distgpu cannot prepare the step: the same for all its processes. `program`: the command line
// that they have in common; empty if unknown.
std::optional<Error> find_refusal(const Request& request, const ProcessPlace& place,
                                  const Environment& environment,
                                  const std::vector<std::string>& program = {});

// Puts the nodes into the order that the request asks for, unless the plugin already did. Returns
// the line to print about it, or an empty text. Each task queries slurmctld or reads the file
// itself. Errors: as apply_order() and read_order_list(); the launcher does not name the nodes; too
// many tasks would query slurmctld.
Result<std::string> order_nodes(const Request& request, ProcessPlace& place,
                                const Environment& environment);

// As plan(). Looks up names and may discover the topology for up to 5 s.
// Precondition: find_refusal() found none.
Result<OwnTask> plan_own_task(Request request, ProcessPlace place, const Environment& environment,
                              const std::vector<std::string>& program = {});

}  // namespace distgpu
