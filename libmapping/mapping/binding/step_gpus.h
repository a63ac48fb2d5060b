// The step's GPUs: what the numbers mean by which Slurm names them to a task.
#pragma once

#include "base/result.h"
#include "mapping/topology/topology.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// Two lists of one length: where the GPUs are on the node, and how this task names them.
struct StepGpus {
    std::vector<std::uint32_t> indices;  // into NodeTopology::gpus, ascending
    std::vector<std::string> names;

    bool operator==(const StepGpus&) const = default;
};

// What Slurm's numbers count (common_gres_set_env() of gres_common.c, 22.05 to 26.05).
enum class Numbering : std::uint8_t {
    node,    // all GPUs of the node, from 0: CUDA opens the one at this place in PCI order
    opened,  // those that Slurm lets the step open (ConstrainDevices), from 0
};

// Where Slurm does not tell: it is `node` where the task can open all GPUs of the node.
Numbering likely_numbering(const NodeTopology& topology,
                           const std::optional<std::vector<std::uint32_t>>& usable);

// `visible`: CUDA_VISIBLE_DEVICES or its like, as Slurm set it for the step. `usable`: what
// usable_gpus() says in this task. Without GPUs, and where they are not plain numbers (UUIDs of MIG
// instances), the lists are empty. A GPU that this task cannot open is left out: a container may
// have some of the step's only.
// Errors: it is not clear which GPUs they are.
Result<StepGpus> step_gpus(const NodeTopology& topology,
                           const std::optional<std::vector<std::uint32_t>>& usable,
                           std::string_view visible, Numbering numbering);

}  // namespace distgpu
