// The plan of a step: what every task of one node gets. plan() is a pure
// function of what the adapters collected: no environment, no clock, no I/O.
#pragma once

#include "base/result.h"
#include "mapping/binding/binding.h"
#include "mapping/binding/node_facts.h"
#include "mapping/layout/ids.h"
#include "mapping/plan/ranks.h"
#include "mapping/plan/step.h"
#include "mapping/rendezvous/rendezvous.h"
#include "mapping/request/request.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distgpu {

struct TaskPlan {
    TaskId task;
    GlobalRank rank;
    NodeRank node_rank;
    LocalRank local_rank;
    // Applied in this order: first unset, then set.
    std::vector<std::string> unset;  // a name that ends with '*' stands for a prefix
    std::vector<std::pair<std::string, std::string>> set;
    // Nothing: the node's topology is not known, and all stays as Slurm set it.
    std::optional<TaskBinding> binding{};
    // Would be set, had the user not exported them.
    std::vector<std::pair<std::string, std::string>> yielded{};
    // What `distgpu exec` appends to the program's command line.
    std::vector<std::string> options{};

    bool operator==(const TaskPlan&) const = default;
};

struct NodePlan {
    NodeIndex node;
    std::string node_name;
    Rendezvous rendezvous;
    std::vector<TaskPlan> tasks;       // in local rank order
    std::vector<std::uint16_t> ports;  // on which the framework will listen on this node
    std::vector<Error> warnings;       // what may not be meant, although it is not refused

    bool operator==(const NodePlan&) const = default;
};

// Judges the step as plan() does, before its rendezvous is known. Nothing: the framework can
// run in it. Preconditions as for plan().
std::optional<Error> refusal(const Request& request, const Step& step);

// What may not be meant in this step as a whole: for srun to say, which alone is told of MPI.
std::vector<Error> step_warnings(const Request& request, const Step& step);

// Plans one node. Preconditions: request.framework is set, node.node < step.layout.node_count(),
// step.facts.node_addresses is empty or has one address for each node, node.share.masks is empty or
// has one mask for each task of the node, node.gpu_names.names has one for each of node.share.gpus.
// Errors: the step is not one that the framework can run in; an exported
// MASTER_PORT that is no port; a port with too few ports after it.
Result<NodePlan> plan(const Request& request, const Step& step, const NodeFacts& node);

}  // namespace distgpu
