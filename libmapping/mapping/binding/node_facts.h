// What plan() is told of one node.
#pragma once

#include "mapping/binding/binding.h"
#include "mapping/layout/ids.h"
#include "mapping/topology/topology.h"

#include <cstdint>
#include <string>
#include <vector>

namespace distgpu {

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

// What one node gives to the step.
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

}  // namespace distgpu
