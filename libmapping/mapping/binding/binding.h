// Which CPUs, GPUs and HCA port each task of a node gets. bind() is pure: of the node's
// topology and of what Slurm gave the tasks it makes the same answer in every task.
#pragma once

#include "mapping/binding/gpu_policies.h"
#include "mapping/topology/cpu_set.h"
#include "mapping/topology/topology.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace distgpu {

struct BindingPolicy {
    const GpuPolicy* gpus = &gpu_policy::near;
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

    bool operator==(const PortRef&) const = default;
    bool operator<(const PortRef& other) const {
        return hca != other.hca ? hca < other.hca : port < other.port;
    }
};

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

}  // namespace distgpu
