// Whose the GPUs are that a task sees. distgpu orders only those that the step has for itself.
#pragma once

#include "base/environment.h"
#include "node/step_gpus.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
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

// What Slurm says of some GPUs in its variables; empty: nothing.
struct GpuLists {
    std::string global;   // SLURM_STEP_GPUS
    std::string visible;  // the first of gpu_variables()

    bool operator==(const GpuLists&) const = default;
};
GpuLists gpu_lists(const Environment& environment);

// The step's GPUs where they are ours to order; else nothing. `of_step`: what Slurm said of the
// whole step before it bound GPUs to its tasks; nothing: the task alone is known.
std::optional<StepGpus> gpus_to_order(const Environment& task,
                                      const std::optional<GpuLists>& of_step,
                                      std::size_t node_gpus);

}  // namespace distgpu
