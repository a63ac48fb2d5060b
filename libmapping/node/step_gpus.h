// The step's GPUs, from what Slurm sets in a task's environment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// Two lists of one length: where the GPUs are on the node, and how the task names them.
struct StepGpus {
    std::vector<std::uint32_t> indices;  // in PCI order of all the node's GPUs, ascending
    std::vector<std::string> names;

    bool operator==(const StepGpus&) const = default;
};

// `global`: SLURM_STEP_GPUS, the node's numbers in PCI order. `visible`: CUDA_VISIBLE_DEVICES or
// its like, which counts from 0 where ConstrainDevices hides the others (common_gres_set_env() of
// gres_common.c, 22.05, fills both in one loop). Nothing where they are not plain numbers (MIG
// instances have UUIDs there), or not those of `node_gpus` GPUs.
std::optional<StepGpus> step_gpus(std::string_view global, std::string_view visible,
                                  std::size_t node_gpus);

// N of "gpu:per_task:N", which is how slurmd tells stepd of --gpus-per-task in SLURMD_TRES_BIND;
// 0: the GPUs are bound in another way, or not at all.
std::uint32_t per_task(std::string_view tres_bind);

}  // namespace distgpu
