// What each rank has of its node's devices, which rank 0 gathers.
#pragma once

#include "results.h"
#include "run/world.h"

#include <string>
#include <vector>

namespace distgpu::scaling {

// The network port that a rank's variables name: "mlx5_3" from NCCL_IB_HCA ("=mlx5_3:1") or, where
// that leaves the choice to NCCL, from UCX_NET_DEVICES ("mlx5_3:1"), which distgpu sets to the port
// near the rank's GPU. "mlx5_3:2" of a second port. Empty: they name none, or several.
std::string port_of_rank(const std::vector<Variable>& environment);

// A text for gather(). `gpu`: Description::gpu.
std::string devices_text(const std::string& gpu, const std::string& port);

// Puts the ranks' texts, by rank, into Node::gpus and Node::rails.
void add_devices(World& world, const std::vector<std::string>& texts);

}  // namespace distgpu::scaling
