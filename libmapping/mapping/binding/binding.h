// Which CPUs, GPUs and HCA port each task of a node gets: the facts of the node, what distgpu may
// bind there, and the binding. All of it is pure: from the same facts every task computes the same.
#pragma once

#include "mapping/layout/ids.h"
#include "mapping/request/request.h"
#include "mapping/topology/topology.h"

namespace distgpu {

struct BindingPolicy {
    GpuPolicy gpus = GpuPolicy::near;
    bool near_cpus = true;
    bool near_hcas = true;

    bool operator==(const BindingPolicy&) const = default;
};

// What Slurm gave the step's tasks on one node.
struct SlurmShare {
    // The CPUs on which each task may run, by local rank. Narrowed, never widened.
    std::vector<CpuSet> masks;
    // --cpus-per-task: a mask is not narrowed below it (nor below what it has). 0 or 1: not asked.
    std::uint32_t cpus_per_task = 0;
    // The step's GPUs, indices into NodeTopology::gpus, in any order.
    std::vector<std::uint32_t> gpus;
    // Where Slurm bound GPUs to tasks: those of each task, by local rank. Empty: it did not.
    std::vector<std::vector<std::uint32_t>> bound;

    bool operator==(const SlurmShare&) const = default;
};

struct PortRef {
    std::uint32_t hca = 0;   // index into NodeTopology::hcas
    std::uint32_t port = 0;  // index into Hca::ports

    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the 0 in it for a pointer.
    auto operator<=>(const PortRef&) const = default;
};

// The ports that ranks should use, of verbs devices: NCCL and UCX name no others.
std::vector<PortRef> rank_ports(const NodeTopology& topology);

// "mlx5_0:1"
std::string port_name(const NodeTopology& topology, PortRef port);

struct TaskBinding {
    CpuSet cpus;  // what the task shall run on; equal to its mask where nothing is narrowed
    // The task's own GPUs, indices into NodeTopology::gpus, nearest first; with more tasks than
    // GPUs several tasks have the same one. Empty: the step has none.
    std::vector<std::uint32_t> gpus;
    // The nearest eligible port and how far from the first of `gpus` (without GPUs: from the
    // CPUs, NODE or SYS); nothing: the node has none.
    std::optional<PortRef> port;
    Distance port_distance = Distance::sys;

    bool operator==(const TaskBinding&) const = default;
};

struct NodeBinding {
    std::vector<TaskBinding> tasks;  // by local rank
    // All GPUs of the step in the order in which every task shall see them: tasks' nearest
    // GPUs by local rank, then the rest. Indices into NodeTopology::gpus.
    std::vector<std::uint32_t> gpu_order;

    bool operator==(const NodeBinding&) const = default;
};

// Preconditions: share.masks are not empty, at least one; share.gpus < topology.gpus.size(),
// each once; share.bound, if not empty, has some of them for each task.
// Cost: cubic in max(tasks, GPUs) where the masks differ, else linear.
NodeBinding bind(const NodeTopology& topology, const BindingPolicy& policy,
                 const SlurmShare& share);

// How Slurm names the step's GPUs to its tasks.
struct GpuNames {
    std::vector<std::string> names;      // of SlurmShare::gpus, in its order: "2"
    std::vector<std::string> variables;  // that hold them: "CUDA_VISIBLE_DEVICES"
    // Why it is not clear which GPUs they are, as "OBJECT: PROBLEM"; empty: it is clear. Then GPUs
    // and CPUs stay as Slurm set them.
    std::string unclear;
    // CUDA counts GPUs by PCI address. False: the user exported another CUDA_DEVICE_ORDER.
    bool in_pci_order = true;

    bool operator==(const GpuNames&) const = default;
};

// Input of plan() for one node.
struct NodeFacts {
    NodeIndex node{};                 // which of the step's nodes it is
    std::uint32_t gpus = 0;           // GPUs that a task of the step sees; 0: none or not known
    std::uint32_t gpus_of_step = 0;   // of all nodes, as --gpus asks for them; 0: it was not given
    std::uint32_t cpus = 1;           // CPUs of the step on this node
    std::uint32_t cpus_per_task = 0;  // what --cpus-per-task gave, 1 without it; 0: not known
    std::uint64_t memory = 0;         // MiB of the step on this node; 0: not known
    std::string address{};            // NodeAddr; empty: the node is reached by its name
    std::string interface {};         // the network interface that has it; empty: not known
    // Those of the variables that stay with the user (SetVariable::users_own) that are exported.
    std::vector<std::string> exported{};
    // For binding. Without a topology or without masks all stays as Slurm set it.
    const NodeTopology* topology = nullptr;
    SlurmShare share{};
    GpuNames gpu_names{};
    bool gpus_bound = false;     // each task gets its own: --gpus-per-task, --gpu-bind
    bool gpus_by_slurm = false;  // Slurm gives the node's GPUs to those who ask for them
    bool confined = false;       // the masks hold the step's CPUs and no others
    bool user_bound = false;     // the user gave --cpu-bind

    bool operator==(const NodeFacts&) const = default;
};

// What distgpu may bind on this node.
BindingPolicy binding_policy(const Request& request, const NodeFacts& node);

// Whether the plan of such a request depends on a topology; finding one may take its time.
bool needs_topology(const Request& request);

}  // namespace distgpu
