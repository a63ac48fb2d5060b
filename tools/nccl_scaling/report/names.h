// What operations, groups and limiters are called.
#pragma once

#include "analysis/blame.h"
#include "analysis/subject.h"
#include "results/results.h"

#include <string>

namespace distgpu::scaling {

// "all-reduce", "all-reduce max"; a sum goes without saying.
std::string collective_name(Collective collective, Op op);

// "all-reduce float, 64 MiB, in place"; `any_type`: it is not named.
std::string operation_name(const Subject& subject, bool any_type = false);

// "all-reduce float, 64 MiB, in place, 4 nodes"
std::string measurement_name(const Results& results, const Measurement& measurement);

// "4 nodes", "2 GPUs of node01" ("2 ranks of ..." in host memory), "node01 - node03",
// "rail 3 (mlx5_3)"; the port where all nodes call it the same.
std::string group_label(const Results& results, const Group& group);

// "node17", "node17/mlx5_3", "rail mlx5_3", "leaf s4", "uplink of s4", "spine", "paths", "node17
// (intermittent)"; "rail 3" for a port without a name or with another name on each node.
std::string limiter_name(const Results& results, const Limiter& limiter);

}  // namespace distgpu::scaling
