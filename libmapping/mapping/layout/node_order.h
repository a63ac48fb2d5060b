// In which order the nodes of a step get the framework's ranks: lists of nodes, and the switches of
// the cluster as Slurm prints them.
#pragma once

#include "mapping/layout/step_layout.h"

#include <unordered_map>

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

struct Switch {
    // One; Slurm writes switches as it writes hosts. Empty: several blocks taken together, or a
    // name that no host can have, such as leaf/1.
    HostList name;
    std::uint32_t level = 0;  // 0: the nodes are on it
    HostList nodes;           // on it and on those below it
};

// What `scontrol show topology` prints of topology/tree (SwitchName=, the same from 22.05 to 26.05)
// and topology/block (BlockName=, from 24.05 on AggregatedBlock= too). Other lines are skipped, and
// what follows the first 131,072 nodes of all lines together, twice as many as Slurm can have.
std::vector<Switch> read_switches(std::string_view topology);

// Those above a node from the top to its own, as indices.
using SwitchPath = std::vector<std::uint32_t>;

// Of each node of a step. Cost: that of all nodes of the switches together.
std::vector<SwitchPath> switches_above(const HostList& nodes, const std::vector<Switch>& switches);

// The nodes so that those below one switch follow each other on every level, and switches as their
// first nodes do. A node without a switch stands where its own place is.
std::vector<NodeIndex> order_by_switch(const std::vector<SwitchPath>& paths);

// How often the way from node to node in this order, and from the last one to the first, leaves a
// switch of the lowest level.
std::uint32_t ring_crossings(const std::vector<SwitchPath>& paths,
                             std::span<const NodeIndex> order);

}  // namespace distgpu
