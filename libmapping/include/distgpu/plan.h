// The plan of a step: what every task of one node gets. plan() is a pure
// function of what the adapters collected: no environment, no clock, no I/O.
#pragma once

#include <distgpu/ids.h>
#include <distgpu/rendezvous.h>
#include <distgpu/request.h>
#include <distgpu/result.h>
#include <distgpu/step_layout.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distgpu {

// What one node gives to the step.
struct NodeFacts {
    std::uint32_t gpus = 0;           // GPUs that a task of the step sees; 0: none or not known
    std::uint32_t cpus = 1;           // CPUs of the step on this node
    std::uint32_t cpus_per_task = 0;  // what --cpus-per-task gave, 1 without it; 0: not known
    std::uint32_t mask_cpus = 0;      // CPUs on which the asking task may run; 0: not known
    std::string address{};            // NodeAddr; empty: the node is reached by its name
    bool own_omp_threads = false;     // the user exported OMP_NUM_THREADS

    bool operator==(const NodeFacts&) const = default;
};

struct TaskPlan {
    TaskId task;
    GlobalRank rank;
    NodeRank node_rank;
    LocalId local_id;
    // Applied in this order: first unset, then set.
    std::vector<std::string> unset;  // a name that ends with '*' stands for a prefix
    std::vector<std::pair<std::string, std::string>> set;

    bool operator==(const TaskPlan&) const = default;
};

struct NodePlan {
    NodeIndex node;
    std::string node_name;
    Rendezvous rendezvous;
    std::vector<TaskPlan> tasks;        // in local id order
    std::vector<std::uint16_t> ports;   // on which the framework will listen on this node
    std::vector<std::string> warnings;  // each one line: what, and the remedy

    bool operator==(const NodePlan&) const = default;
};

// The rank that a framework gives the task's node.
NodeRank node_rank_of(const Framework& framework, NodeIndex node, GlobalRank rank);

// The framework rank of a task. Today Slurm's own task order.
GlobalRank rank_of(TaskId task);

// The node that runs rank 0: its MASTER_ADDR is everybody's.
NodeIndex rank0_node(const StepLayout& layout);

// Judges the step as plan() does, before its rendezvous is known. Nothing: the framework can
// run in it. Preconditions as for plan().
std::optional<Error> refusal(const Request& request, const StepLayout& layout,
                             const RendezvousFacts& facts, const StepFacts& step_facts);

// What may not be meant in this step, although it is not refused: for srun to say once.
std::optional<Error> warning(const Request& request, const StepLayout& layout,
                             const StepFacts& step_facts);

// Plans one node. `facts.rank0_name`, `ports_needed` and `tasks_per_node` are
// filled in here from the layout and the framework. Preconditions:
// request.framework is set, node < layout.node_count(), step_facts.node_addresses
// is empty or has one address for each node.
// Errors: the step is not one that the framework can run in; an exported
// MASTER_PORT that is no port; a port with too few ports after it.
Result<NodePlan> plan(const Request& request, const StepLayout& layout, RendezvousFacts facts,
                      const StepFacts& step_facts, const NodeFacts& node_facts, NodeIndex node);

}  // namespace distgpu
