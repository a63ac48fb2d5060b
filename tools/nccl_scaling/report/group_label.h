// What a group is called in tables and plots, and what it is for.
#pragma once

#include "results.h"

#include <string>

namespace distgpu::scaling {

// "4 nodes", "2 GPUs of node01" ("2 ranks of ..." in host memory), "node01 - node03",
// "without node02", "rail 3 (mlx5_3)"; the port where all nodes call it the same.
std::string group_label(const Results& results, const Group& group);

// One of those by whose size E(N) goes: the first GPUs of a node, the first nodes.
bool is_scaling_group(const Group& group);

}  // namespace distgpu::scaling
