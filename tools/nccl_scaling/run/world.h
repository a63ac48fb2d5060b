// The run's ranks and the nodes that they are on.
#pragma once

#include "bootstrap/rank_names.h"
#include "results.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace distgpu::scaling {

struct World {
    std::vector<Node> nodes;                  // in the order of their first ranks
    std::vector<std::uint32_t> node_of_rank;  // indices into nodes
    std::vector<Peer> peers;                  // by rank
};

World world_of(const std::vector<Peer>& peers);

// The ranks of a group, ascending.
std::vector<std::uint32_t> ranks_of(const World& world, const Group& group);

}  // namespace distgpu::scaling
