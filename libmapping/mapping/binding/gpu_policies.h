// What gpus= chooses: which of the step's GPUs a task sees, and in which order. A policy is one
// constant record; the SPEC parser and plugstack.conf's read the list of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace distgpu {

struct NodeBinding;

struct GpuPolicy {
    std::string_view word;  // as the user writes it: gpus=WORD
    // The GPUs that the task with this local rank shall see, in order, as indices into
    // NodeTopology::gpus; null: those that Slurm gave it, as Slurm named them.
    const std::vector<std::uint32_t>& (*seen_by)(const NodeBinding&, std::size_t task) = nullptr;
    // Each task sees its own alone. Level Zero takes its mask for a set, so that there only this
    // has an effect, and an order has none.
    bool own_alone = false;
};

namespace gpu_policy {

// Every task sees all GPUs of the step, in an order that makes cuda:LOCAL_RANK near. The order is
// the same for all tasks of the node, so that they agree on device numbers and peers.
extern const GpuPolicy near;

// Every task sees its own GPUs only.
extern const GpuPolicy isolate;

// Every task sees what Slurm gave it, as Slurm named it.
extern const GpuPolicy keep;

}  // namespace gpu_policy

// In the order in which a message names them.
std::span<const GpuPolicy* const> gpu_policies();

}  // namespace distgpu
