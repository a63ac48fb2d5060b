// The binding of a node: which CPUs, GPUs and HCA port each task gets, computed from the node's
// facts and a policy. It is pure: from the same facts every task computes the same binding.
#pragma once

#include "mapping/layout/ids.h"
#include "mapping/request/request.h"
#include "mapping/topology/topology.h"

namespace distgpu {

// What distgpu may bind on a node.
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
    // --cpus-per-task: a mask is not narrowed to fewer CPUs. 0 or 1: it was not given.
    std::uint32_t cpus_per_task = 0;
    // The step's GPUs, indices into NodeTopology::gpus, in any order.
    std::vector<std::uint32_t> gpus;
    // The GPUs that Slurm bound to each task, by local rank. Empty if it bound none.
    std::vector<std::vector<std::uint32_t>> task_gpus;

    bool operator==(const SlurmShare&) const = default;
};

struct PortRef {
    std::uint32_t hca = 0;   // index into NodeTopology::hcas
    std::uint32_t port = 0;  // index into Hca::ports

    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 mistakes its 0 for a pointer.
    auto operator<=>(const PortRef&) const = default;
};

// The eligible ports of verbs devices: NCCL and UCX cannot name others.
std::vector<PortRef> rank_ports(const NodeTopology& topology);

// "mlx5_0:1"
std::string port_name(const NodeTopology& topology, PortRef port);

struct TaskBinding {
    CpuSet cpus;  // on which the task shall run; equal to its mask if that is not narrowed
    // The task's own GPUs, indices into NodeTopology::gpus, nearest first; with more tasks than
    // GPUs several tasks share one. Empty if the step has none.
    std::vector<std::uint32_t> gpus;
    // The nearest eligible port and its distance from the first of `gpus` (without GPUs: from the
    // CPUs, NODE or SYS); nullopt if the node has none.
    std::optional<PortRef> port;
    Distance port_distance = Distance::sys;

    bool operator==(const TaskBinding&) const = default;
};

struct NodeBinding {
    std::vector<TaskBinding> tasks;  // by local rank
    // All GPUs of the step in the order in which every task shall see them: the nearest GPU of each
    // task by local rank, then the others. Indices into NodeTopology::gpus.
    std::vector<std::uint32_t> gpu_order;

    bool operator==(const NodeBinding&) const = default;
};

// Preconditions: share.masks has at least one mask and none is empty; share.gpus are below
// topology.gpus.size(), each once; share.task_gpus, if not empty, has some of them for each task.
// Cost: cubic in max(tasks, GPUs) if the masks differ, else linear.
NodeBinding bind(const NodeTopology& topology, const BindingPolicy& policy,
                 const SlurmShare& share);

// How Slurm names the step's GPUs to its tasks.
struct GpuNames {
    std::vector<std::string> names;      // of SlurmShare::gpus, in its order: "2"
    std::vector<std::string> variables;  // that hold the names: "CUDA_VISIBLE_DEVICES"
    // Why the names do not identify the GPUs, as "OBJECT: PROBLEM": GPUs and CPUs then stay as
    // Slurm set them. Empty if they do.
    std::string ambiguity;
    // CUDA numbers GPUs by PCI address. False if the user exported another CUDA_DEVICE_ORDER.
    bool in_pci_order = true;

    bool operator==(const GpuNames&) const = default;
};

// Input of plan() for one node.
struct NodeFacts {
    NodeIndex node{};                 // in the step's node list
    std::uint32_t gpus = 0;           // GPUs that a task of the step sees; 0 if none or unknown
    std::uint32_t gpus_of_step = 0;   // --gpus, of all nodes; 0 if it was not given
    std::uint32_t cpus = 1;           // CPUs of the step on this node
    std::uint32_t cpus_per_task = 0;  // --cpus-per-task, 1 without it; 0 if unknown
    std::uint64_t memory = 0;         // MiB of the step on this node; 0 if unknown
    std::string address{};            // NodeAddr; empty if the node is reached by its name
    std::string interface {};         // the network interface with that address; empty if unknown
    // The variables with SetVariable::users_own that the user exported.
    std::vector<std::string> exported{};
    // For binding. Without a topology or masks, everything stays as Slurm set it.
    const NodeTopology* topology = nullptr;
    SlurmShare share{};
    GpuNames gpu_names{};
    bool slurm_binds_gpus = false;    // to tasks, by --gpus-per-task or --gpu-bind
    bool slurm_manages_gpus = false;  // a step on this node gets only the GPUs that it asks for
    bool is_confined = false;         // the masks hold the step's CPUs and no others
    bool has_cpu_bind = false;        // the user gave --cpu-bind

    bool operator==(const NodeFacts&) const = default;
};

BindingPolicy binding_policy(const Request& request, const NodeFacts& node);

// Whether the plan of such a request depends on a topology, whose discovery may take seconds.
bool needs_topology(const Request& request);

}  // namespace distgpu
