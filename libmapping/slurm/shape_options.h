// The options that give a step its shape, as `distgpu plan`, srun and sbatch take them.
#pragma once

#include "mapping/layout/layout_text.h"

#include <string>

namespace distgpu {

// The options' texts; empty where one was not given.
struct ShapeOptions {
    LayoutText layout{};
    std::string gpus_per_node{};  // --gpus-per-node N: a node's first N; by default all it has
    std::string gpus{};           // --gpus N: of all nodes together
    std::string gpu_list{};       // --gpu-list 2,3: which of a node's GPUs, by number
    std::string cpus_per_task{};  // --cpus-per-task N
    std::string cpu_masks{};      // --cpu-masks 0-3:4-7: of a node's tasks; one for all; by default
                                  // all the CPUs that the node has
    // Where gpus_per_node was written; empty: in an option.
    std::string gpus_variable{};

    bool operator==(const ShapeOptions&) const = default;
};

}  // namespace distgpu
