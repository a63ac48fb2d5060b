// Whose the GPUs are that a task sees. distgpu orders only those that the step has for itself.
#pragma once

#include "base/environment.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

enum class GpuOwner : std::uint8_t {
    step,  // every task of the step sees all of its GPUs
    task,  // GPUs were bound to tasks: each sees its own
    jobs,  // several jobs share them: MPS, shards
};

// From the variables of a task.
GpuOwner gpu_owner(const Environment& environment);

// Those of the variables in which Slurm names a task's GPUs that are set, one for each kind in
// gres.conf; the first decides where they differ.
std::vector<std::string> gpu_variables(const Environment& environment);

// The value of the first of them; empty: none is set.
std::string visible_gpus(const Environment& environment);

// Whether CUDA counts GPUs by PCI address: false where CUDA_DEVICE_ORDER is set to another order.
bool counts_by_pci(const Environment& environment);

}  // namespace distgpu
