// The plan of a step: what every task of one node gets. plan() is a pure function of what the
// adapters collected: no environment, no clock, no I/O.
#pragma once

#include "mapping/binding/binding.h"
#include "mapping/frameworks/framework.h"
#include "mapping/layout/step_layout.h"
#include "mapping/rendezvous/rendezvous.h"

namespace distgpu {

// Input of plan() for the step as a whole, the same on every node.
struct Step {
    StepLayout layout;
    StepFacts facts{};
    RendezvousFacts rendezvous{};
};

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

// Warnings about the whole step. Printed by srun, the only side that knows --mpi.
std::vector<Error> step_warnings(const Request& request, const Step& step);

// Plans one node. Preconditions: request.framework is set, node.node < step.layout.node_count(),
// step.facts.node_addresses is empty or has one address for each node, node.share.masks is empty or
// has one mask for each task of the node, node.gpu_names.names has one for each of node.share.gpus.
// Errors: the framework cannot run in the step; an exported MASTER_PORT that is no port; a port
// with too few ports after it.
Result<NodePlan> plan(const Request& request, const Step& step, const NodeFacts& node);

// What the framework asks of the rendezvous of such a step.
RendezvousNeeds rendezvous_needs(const Framework& framework, const StepLayout& layout);

// The ports on which the framework will listen on one node. `first`: the rendezvous.
std::vector<std::uint16_t> ports_on(const Framework& framework, const StepLayout& layout,
                                    NodeIndex node, std::uint16_t first);

// The address that the user chose for rank 0's node.
struct ChosenAddress {
    std::string host;
    std::string object;  // as messages name it: "MASTER_ADDR=node01", "master=node01"
    std::string remedy;
};

// Nothing: it is distgpu that chooses, or the mode's processes do not meet there.
std::optional<ChosenAddress> chosen_address(const Request& request, const RendezvousFacts& facts);

// What is wrong with a host at which the nodes of a step look for rank 0: in a step of several
// nodes the loopback, or the NodeName or NodeAddr of a node which does not run rank 0. Nothing: it
// can be right, as any other may be one more name of rank 0's node.
std::optional<std::string> wrong_host(const StepView& step, const RendezvousFacts& facts,
                                      std::string_view host);

}  // namespace distgpu
