// See world.h.
#include "run/world.h"

#include "run/plan.h"

#include <map>
#include <string>

namespace distgpu::scaling {

World world_of(const std::vector<Peer>& peers) {
    World world;
    world.peers = peers;
    world.node_of_rank.reserve(peers.size());
    std::map<std::string, std::uint32_t> known;
    for (const Peer& peer : peers) {
        const auto next = static_cast<std::uint32_t>(world.nodes.size());
        const auto [place, is_new] = known.try_emplace(peer.host, next);
        if (is_new) world.nodes.push_back({peer.host, 0, {}, {}});
        ++world.nodes[place->second].ranks;
        world.node_of_rank.push_back(place->second);
    }
    return world;
}

std::vector<std::uint32_t> ranks_of(const World& world, const Group& group) {
    std::vector<std::uint32_t> ranks;
    ranks.reserve(group.ranks);
    for (std::uint32_t rank = 0; rank < world.peers.size(); ++rank) {
        if (is_member(group, world.node_of_rank[rank], world.peers[rank].local_rank)) {
            ranks.push_back(rank);
        }
    }
    return ranks;
}

}  // namespace distgpu::scaling
