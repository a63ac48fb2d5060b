// The targets, and what must hold for every input: a broken promise ends the fuzzer as a crash
// does.
#pragma once

#include "mapping/plan/plan.h"
#include "mapping/topology/topology.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace distgpu {

inline void require(bool holds, const char* promise) {
    if (holds) return;
    std::fprintf(stderr, "broken promise: %s\n", promise);
    std::abort();
}

// What is told a person: one line that cannot steer a terminal nor forge a line of a log.
inline void require_line(std::string_view text) {
    require(!text.empty(), "it has words");
    for (const char c : text) require((c < 0 || c >= ' ') && c != 0x7f, "it is one line");
}

// ---- What holds of the plan of every step and of every topology, whatever text they came from.

// The step is refused in one line, or its plan is complete: every task of a node has its ranks, as
// the layout says, each variable once, and CPUs, GPUs and a port that the node has. Looked at:
// `facts.node` and the nodes of the first and the last task. Preconditions: as for plan(); the
// facts fit each of those nodes.
void require_complete_plans(const Request& request, const Step& step, NodeFacts facts);

// The same with one request of each kind: a rank each task, a launcher, every node by its name.
void require_complete_plans(const Step& step, const NodeFacts& facts);

// Its parts fit each other, and a step with its GPUs and CPUs gets a complete plan, whether the
// tasks share the node's CPUs or have some each.
void require_plans_on(const NodeTopology& topology);

// Two nodes with so many tasks each.
Step two_nodes_with(std::uint32_t tasks_each);

// So many nodes and tasks that a plan takes no time.
bool is_small(const StepLayout& layout);

// ---- The targets: each reads the text as the program does that gets it, and requires what must
// hold whatever it is.

using TryText = void(std::string_view text);
TryText try_bootstrap, try_bound_record, try_check_report, try_handed_layout, try_hostlist,
    try_node_answers, try_node_look, try_plugstack, try_process_text, try_reserved_ports,
    try_sattach, try_scaling_results, try_sent_step, try_spec, try_switches, try_tasks_per_node,
    try_topology_json, try_topology_xml, try_trial_lines;

}  // namespace distgpu
