// The plan of a step: what every task of one node gets. plan() is a pure
// function of what the adapters collected: no environment, no clock, no I/O.
#pragma once

#include "base/result.h"
#include "mapping/binding/binding.h"
#include "mapping/layout/ids.h"
#include "mapping/layout/step_layout.h"
#include "mapping/rendezvous/rendezvous.h"
#include "mapping/spec/request.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distgpu {

// How Slurm names the step's GPUs to its tasks.
struct GpuNames {
    std::vector<std::string> names;      // of SlurmShare::gpus, in its order: "2"
    std::vector<std::string> variables;  // that hold them: "CUDA_VISIBLE_DEVICES"

    bool operator==(const GpuNames&) const = default;
};

// What one node gives to the step.
struct NodeFacts {
    std::uint32_t gpus = 0;           // GPUs that a task of the step sees; 0: none or not known
    std::uint32_t cpus = 1;           // CPUs of the step on this node
    std::uint32_t cpus_per_task = 0;  // what --cpus-per-task gave, 1 without it; 0: not known
    std::string address{};            // NodeAddr; empty: the node is reached by its name
    std::string interface {};         // the network interface that has it; empty: not known
    // Those of the variables that stay with the user (SetVariable::users_own) that are exported.
    std::vector<std::string> exported{};
    // For binding. Without a topology or without masks all stays as Slurm set it.
    const NodeTopology* topology = nullptr;
    SlurmShare share{};
    GpuNames gpu_names{};
    bool confined = false;    // the masks hold the step's CPUs and no others
    bool user_bound = false;  // the user gave --cpu-bind

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
    // Nothing: the node's topology is not known, and all stays as Slurm set it.
    std::optional<TaskBinding> binding{};

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

// Its inverse: the task that has the rank.
TaskId task_of(GlobalRank rank);

// The node that runs rank 0: its MASTER_ADDR is everybody's.
NodeIndex rank0_node(const StepLayout& layout);

// Judges the step as plan() does, before its rendezvous is known. Nothing: the framework can
// run in it. Preconditions as for plan().
std::optional<Error> refusal(const Request& request, const StepLayout& layout,
                             const RendezvousFacts& facts, const StepFacts& step_facts);

// What may not be meant in this step, although it is not refused: for srun to say once.
std::optional<Error> warning(const Request& request, const StepLayout& layout,
                             const StepFacts& step_facts);

// Whether the plan of such a request depends on a topology; finding one may take its time.
bool needs_topology(const Request& request);

// Plans one node. `facts.rank0_name`, `ports_needed` and `tasks_per_node` are
// filled in here from the layout and the framework. Preconditions:
// request.framework is set, node < layout.node_count(), step_facts.node_addresses
// is empty or has one address for each node, node_facts.share.masks is empty or has one mask for
// each task of the node, node_facts.gpu_names.names has one for each of node_facts.share.gpus.
// Errors: the step is not one that the framework can run in; an exported
// MASTER_PORT that is no port; a port with too few ports after it.
Result<NodePlan> plan(const Request& request, const StepLayout& layout, RendezvousFacts facts,
                      const StepFacts& step_facts, const NodeFacts& node_facts, NodeIndex node);

}  // namespace distgpu
