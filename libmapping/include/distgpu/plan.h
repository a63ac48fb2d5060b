// The plan of a step: what every task of one node gets. plan() is a pure
// function of what the adapters collected: no environment, no clock, no I/O.
#pragma once

#include <distgpu/ids.h>
#include <distgpu/rendezvous.h>
#include <distgpu/request.h>
#include <distgpu/result.h>
#include <distgpu/step_layout.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace distgpu {

// What one node gives to the step.
struct NodeFacts {
    std::uint32_t gpus = 0;           // GPUs of the step on this node; 0: none or not known
    std::uint32_t cpus = 1;           // CPUs of the step on this node
    std::uint32_t cpus_per_task = 0;  // 0: not known

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
    std::vector<std::string> warnings;  // each one line: what, and the remedy

    bool operator==(const NodePlan&) const = default;
};

// The rank that a framework gives the task's node.
NodeRank node_rank_of(const Framework& framework, NodeIndex node, GlobalRank rank);

// The framework rank of a task. Today Slurm's own task order.
GlobalRank rank_of(TaskId task);

// The node that runs rank 0: its MASTER_ADDR is everybody's.
NodeIndex rank0_node(const StepLayout& layout);

// Plans one node. `facts.rank0_name`, `ports_needed` and `tasks_per_node` are
// filled in here from the layout and the framework. Preconditions:
// request.framework is set, node < layout.node_count().
// Errors: the step is not one that the framework can run in; an exported
// MASTER_PORT that is no port.
Result<NodePlan> plan(const Request& request, const StepLayout& layout, RendezvousFacts facts,
                      const NodeFacts& node_facts, NodeIndex node);

}  // namespace distgpu
