// What plan() is told of a step, a node and a task, as far as the variables of the step and the
// machine itself tell it: the plugin and `distgpu exec` both begin here, and add what SPANK or
// another launcher alone knows.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "mapping/binding/node_facts.h"
#include "mapping/binding/step_gpus.h"
#include "mapping/plan/step.h"
#include "mapping/topology/topology.h"
#include "node/node_topology.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// The layout's step. Of a task that distgpu prepared, the rendezvous is that for which it was
// prepared; else only what its user exported counts. A text that is no line is left out.
Step collect_step(const Environment& environment, StepLayout layout);

struct NodeSource {
    std::string address;  // by which the other nodes reach this one; empty: nothing to look for
    std::string name;     // of this node, for a warning
    std::string_view remedy{};                 // where the address leads to the loopback
    std::optional<TopologySource> topology{};  // nothing: the request needs none
};

struct OwnNode {
    std::unique_ptr<const NodeTopology> topology{};  // null: not known, or not needed
    std::string interface {};                        // that has the address; empty: not known
    std::string ignored_topology{};  // why the topology's file was not used; empty: it was
    bool silent_discovery = false;   // it took all its time
    std::vector<Error> warnings{};   // what went wrong, and stays as it is
};

// Looks up a name for up to a second, and may discover the topology, which takes up to 5 s.
OwnNode find_own_node(const NodeSource& source);

// The facts point to the node's topology. `launch`: what a container may have replaced in `task`.
NodeFacts collect_facts(const Environment& task, const Environment& launch, const OwnNode& node);

// Error: why it is not clear which they are.
void set_gpus(NodeFacts& facts, const Result<StepGpus>& gpus);

}  // namespace distgpu
