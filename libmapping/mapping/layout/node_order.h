// The node order of a step, from a list of nodes or from the cluster's switches as Slurm prints
// them.
#pragma once

#include "mapping/layout/step_layout.h"

#include <unordered_map>

namespace distgpu {

// The nodes by name, for many lookups: HostList::find() goes through all ranges. A name that occurs
// twice maps to its first node.
std::unordered_map<std::string, NodeIndex> index_by_name(const HostList& nodes);

// The step's nodes in the order of `list`. Errors (object: `source`): the list names a node twice,
// names one that is not in the step, or lacks one.
Result<std::vector<NodeIndex>> order_from_list(std::string_view source, const HostList& nodes,
                                               const HostList& list);

// The node order of a layout as a list; empty if it has none.
std::string order_text(const StepLayout& layout);

// The same layout with such a node order. Errors: those of order_from_list() and
// StepLayout::with_order(), and a text that is not a list of as many hosts.
Result<StepLayout> with_node_order(const StepLayout& layout, std::string_view text);

struct Switch {
    // A single name, which Slurm writes like a host name. Empty for an aggregate of several blocks,
    // and for a name that no host can have, such as leaf/1.
    HostList name;
    std::uint32_t level = 0;  // 0: a leaf, connected to nodes
    HostList nodes;           // on this switch and those below it
};

// Parses the output of `scontrol show topology` for topology/tree (SwitchName=, the same from 22.05
// to 26.05) and topology/block (BlockName=, from 24.05 on also AggregatedBlock=). Skips other
// lines, and those after the first 131,072 nodes of all lines together, twice as many as Slurm can
// have.
std::vector<Switch> read_switches(std::string_view topology);

// The switches above a node, from the top to its own, as indices.
using SwitchPath = std::vector<std::uint32_t>;

// The path of each node of a step. Cost: linear in the nodes of all switches together.
std::vector<SwitchPath> switches_above(const HostList& nodes, const std::vector<Switch>& switches);

// Orders the nodes so that, on every level, those below one switch are neighbours, and switches
// follow the order of their first nodes. A node without a switch keeps its place.
std::vector<NodeIndex> order_by_switch(const std::vector<SwitchPath>& paths);

// How many hops of the ring through the nodes in this order, the one from the last to the first
// included, leave a switch of the lowest level.
std::uint32_t ring_crossings(const std::vector<SwitchPath>& paths,
                             std::span<const NodeIndex> order);

}  // namespace distgpu
