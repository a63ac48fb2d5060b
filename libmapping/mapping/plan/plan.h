// The plan of a step: what every task of one node gets. plan() is a pure function of the facts that
// the adapters collect: no environment, no clock, no I/O.
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
    std::vector<std::string> unset;  // a name that ends with '*' is a prefix
    std::vector<std::pair<std::string, std::string>> set;
    // nullopt if the node's topology is unknown: everything stays as Slurm set it.
    std::optional<TaskBinding> binding{};
    // Variables that are not set because the user exported them, with distgpu's values.
    std::vector<std::pair<std::string, std::string>> overridden_by_user{};
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
    std::vector<Error> warnings;

    bool operator==(const NodePlan&) const = default;
};

// Why plan() would refuse the step, before its rendezvous is known; nullopt if the framework can
// run in it. Preconditions as for plan().
std::optional<Error> refusal(const Request& request, const Step& step);

// Warnings about the whole step. Printed by srun, the only side that knows --mpi.
std::vector<Error> step_warnings(const Request& request, const Step& step);

// Plans one node. Preconditions: request.framework is set, node.node < step.layout.node_count(),
// step.facts.node_addresses is empty or has one address for each node, node.share.masks is empty or
// has one mask for each task of the node, node.gpu_names.names has one for each of node.share.gpus.
// Errors: the framework cannot run in the step; an invalid exported MASTER_PORT or MASTER_ADDR; a
// port with too few ports after it.
Result<NodePlan> plan(const Request& request, const Step& step, const NodeFacts& node);

// What the framework requires of the rendezvous of such a step.
RendezvousNeeds rendezvous_needs(const Framework& framework, const StepLayout& layout);

// The ports on which the framework will listen on one node. `first`: the port of the rendezvous.
std::vector<std::uint16_t> ports_on(const Framework& framework, const StepLayout& layout,
                                    NodeIndex node, std::uint16_t first);

// The address that the user chose for rank 0's node.
struct ChosenAddress {
    std::string host;
    std::string object;  // as messages name it: "MASTER_ADDR=node01", "master=node01"
    std::string remedy;
};

// nullopt if distgpu chooses the address, or the mode has no rendezvous.
std::optional<ChosenAddress> chosen_address(const Request& request, const RendezvousFacts& facts);

// Why `host` cannot be the address of rank 0's node: in a step of several nodes it is the loopback,
// or the NodeName or NodeAddr of another node. nullopt for any other host, which may be one more
// name of rank 0's node.
std::optional<std::string> host_problem(const StepView& step, const RendezvousFacts& facts,
                                        std::string_view host);

}  // namespace distgpu
