// The run's ranks, their nodes and devices, and the environment variables that are recorded.
#pragma once

#include "base/result.h"
#include "bootstrap/membership.h"
#include "results/results.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace distgpu::scaling {

struct World {
    std::vector<Node> nodes;                                // in the order of their first ranks
    std::vector<std::uint32_t> node_of_rank;                // indices into nodes
    std::vector<std::vector<std::uint32_t>> ranks_of_node;  // ascending
    std::vector<Peer> peers;                                // by rank
};

World world_of(const std::vector<Peer>& peers);

// The ranks of a group, ascending.
std::vector<std::uint32_t> ranks_of(const World& world, const Group& group);

// The variables that change how collectives run, sorted by name. `environment`: a null-terminated
// array of "NAME=VALUE". Uses an allow-list, because a job's environment may contain secrets.
NamedValues recorded_environment(const char* const* environment);

// The HCA port that a rank's variables name: "mlx5_3" from NCCL_IB_HCA ("=mlx5_3:1") or, if that
// leaves the choice to NCCL, from UCX_NET_DEVICES ("mlx5_3:1"), which distgpu sets to the port near
// the rank's GPU. "mlx5_3:2" for a second port. Empty if they name no port or several.
std::string port_of_rank(const NamedValues& environment);

// A rank's devices as a text for gather(). `gpu`: Description::gpu; `fault`: from run_node_check(),
// on one rank of each node.
std::string devices_text(const std::string& gpu, const std::string& port, const std::string& fault);

// Adds the devices from the ranks' texts to the nodes. Error: a text is malformed.
std::optional<Error> add_devices(World& world, const std::vector<std::string>& texts);

// The finding of `distgpu check --node` on this node, run for at most 4 s. Empty if there is none,
// or the command did not run.
std::string run_node_check();

}  // namespace distgpu::scaling
