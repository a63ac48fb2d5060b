// What operations, groups and limiters are called.
#pragma once

#include "analysis/blame.h"
#include "results.h"

#include <cstdint>
#include <optional>
#include <string>

namespace distgpu::scaling {

// "all-reduce float, 64 MiB, in place"; without a type where it is any.
std::string operation_name(Collective collective, std::optional<DataType> type, bool in_place,
                           std::uint64_t bytes);

// "all-reduce float, 64 MiB, in place, 4 nodes"
std::string measurement_name(const Results& results, const Measurement& measurement);

// "4 nodes", "2 GPUs of node01" ("2 ranks of ..." in host memory), "node01 - node03",
// "rail 3 (mlx5_3)"; the port where all nodes call it the same.
std::string group_label(const Results& results, const Group& group);

// "node17", "node17/mlx5_3", "rail mlx5_3", "leaf s4", "uplink of s4", "spine", "paths", "node17
// (intermittent)"; "rail 3" for a port without a name or with another name on each node.
std::string limiter_name(const Results& results, const Limiter& limiter);

}  // namespace distgpu::scaling
