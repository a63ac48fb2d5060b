// The run's ranks, the nodes that they are on, the devices there, and the variables that count.
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

// Of an array of "NAME=VALUE" that ends with null, the variables that change how collectives run,
// sorted by name. An allow-list: the environment of a job also holds what must not be published.
NamedValues kept_environment(const char* const* environment);

// The network port that a rank's variables name: "mlx5_3" from NCCL_IB_HCA ("=mlx5_3:1") or, where
// that leaves the choice to NCCL, from UCX_NET_DEVICES ("mlx5_3:1"), which distgpu sets to the port
// near the rank's GPU. "mlx5_3:2" of a second port. Empty: they name none, or several.
std::string port_of_rank(const NamedValues& environment);

// What a rank says of its part of its node, as a text for gather(). `gpu`: Description::gpu;
// `fault`: of check_of_node(), by one rank of each node.
std::string devices_text(const std::string& gpu, const std::string& port, const std::string& fault);

// Puts the ranks' texts, by rank, into the nodes. Error: a text is malformed.
std::optional<Error> add_devices(World& world, const std::vector<std::string>& texts);

// What `distgpu check --node` says of this node, within 4 s. Empty: nothing, or that it could not
// be asked.
std::string check_of_node();

}  // namespace distgpu::scaling
