// The run's ranks, the nodes that they are on, and the devices there.
#pragma once

#include "base/result.h"
#include "bootstrap/rank_names.h"
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

// The network port that a rank's variables name: "mlx5_3" from NCCL_IB_HCA ("=mlx5_3:1") or, where
// that leaves the choice to NCCL, from UCX_NET_DEVICES ("mlx5_3:1"), which distgpu sets to the port
// near the rank's GPU. "mlx5_3:2" of a second port. Empty: they name none, or several.
std::string port_of_rank(const std::vector<Variable>& environment);

// What a rank has of its node's devices, as a text for gather(). `gpu`: Description::gpu.
std::string devices_text(const std::string& gpu, const std::string& port);

// Puts the ranks' texts, by rank, into Node::gpus and Node::rails. Error: a text is malformed.
std::optional<Error> add_devices(World& world, const std::vector<std::string>& texts);

// The same of what text_of(RankFacts) made, into Node::facts and Node::rates. Ranks that share a
// device say of it the same, which is kept once.
void add_facts(World& world, const std::vector<std::string>& texts);

}  // namespace distgpu::scaling
