#include "run/world.h"

#include "base/json_text.h"
#include "bootstrap/channel.h"
#include "facts/slow_rates.h"
#include "run/plan.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>

namespace distgpu::scaling {
namespace {

std::string value_of(const std::vector<Variable>& environment, std::string_view name) {
    const auto found = std::find_if(environment.begin(), environment.end(),
                                    [&](const Variable& one) { return one.name == name; });
    return found == environment.end() ? "" : found->value;
}

// The name in "mlx5_3:1". Empty: no port, or several.
std::string single_port(std::string_view value) {
    constexpr std::string_view first_port = ":1";
    const std::size_t colon = value.find(':');
    if (colon == std::string_view::npos || value.find(',') != std::string_view::npos) return "";
    return std::string(value.substr(colon) == first_port ? value.substr(0, colon) : value);
}

// By local rank, as long as one of them is known.
template <class Value>
void set(std::vector<Value>& of_node, std::uint32_t local_rank, Value value) {
    if (value == Value{}) return;
    if (of_node.size() <= local_rank) of_node.resize(local_rank + std::size_t{1});
    of_node[local_rank] = std::move(value);
}

}  // namespace

World world_of(const std::vector<Peer>& peers) {
    World world;
    world.peers = peers;
    world.node_of_rank.reserve(peers.size());
    std::map<std::string, std::uint32_t> known;
    for (const Peer& peer : peers) {
        const auto next = static_cast<std::uint32_t>(world.nodes.size());
        const auto [place, is_new] = known.try_emplace(peer.host, next);
        if (is_new) {
            world.nodes.push_back({peer.host, 0, {}, {}, peer.switches});
            world.ranks_of_node.emplace_back();
        }
        ++world.nodes[place->second].ranks;
        world.ranks_of_node[place->second].push_back(
            static_cast<std::uint32_t>(world.node_of_rank.size()));
        world.node_of_rank.push_back(place->second);
    }
    return world;
}

std::vector<std::uint32_t> ranks_of(const World& world, const Group& group) {
    std::vector<std::uint32_t> ranks;
    ranks.reserve(group.ranks);
    for (const std::uint32_t node : group.nodes) {
        for (const std::uint32_t rank : world.ranks_of_node[node]) {
            if (is_member(group, world.peers[rank].local_rank)) ranks.push_back(rank);
        }
    }
    std::sort(ranks.begin(), ranks.end());
    return ranks;
}

// Without '=' NCCL_IB_HCA has beginnings of names, and with '^' those not to be used.
std::string port_of_rank(const std::vector<Variable>& environment) {
    const std::string nccl = value_of(environment, "NCCL_IB_HCA");
    const bool exact = nccl.rfind('=', 0) == 0;
    std::string port = exact ? single_port(std::string_view(nccl).substr(1)) : "";
    return port.empty() ? single_port(value_of(environment, "UCX_NET_DEVICES")) : port;
}

std::string devices_text(const std::string& gpu, const std::string& port) {
    return JsonText{{"gpu", gpu}, {"port", port}}.line();
}

std::optional<Error> add_devices(World& world, const std::vector<std::string>& texts) {
    for (std::uint32_t rank = 0; rank < texts.size(); ++rank) {
        Node& node = world.nodes[world.node_of_rank[rank]];
        const std::uint32_t local_rank = world.peers[rank].local_rank;
        auto error = read_answer(world.peers, rank, texts[rank], [&](const JsonFields& fields) {
            set(node.gpus, local_rank, fields.text("gpu"));
            set(node.rails, local_rank, fields.text("port"));
        });
        if (error) return error;
    }
    return std::nullopt;
}

void add_facts(World& world, const std::vector<std::string>& texts) {
    std::vector<RankFacts> ranks(texts.size());
    std::transform(texts.begin(), texts.end(), ranks.begin(), read_rank_facts);
    add_slow_rates(ranks);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        Node& node = world.nodes[world.node_of_rank[rank]];
        for (std::string& fact : ranks[rank].unusual) {
            auto& known = node.facts;
            const bool is_new = std::find(known.begin(), known.end(), fact) == known.end();
            if (is_new) known.push_back(std::move(fact));
        }
        set(node.rates, world.peers[rank].local_rank, ranks[rank].rates);
    }
}

}  // namespace distgpu::scaling
