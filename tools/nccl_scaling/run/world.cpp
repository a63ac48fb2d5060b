#include "run/world.h"

#include "base/format.h"
#include "base/io/programs.h"
#include "base/json.h"
#include "bootstrap/channel.h"
#include "run/plan.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

namespace distgpu::scaling {
namespace {

constexpr std::array<std::string_view, 7> recorded_prefixes{
    "NCCL_", "UCX_", "OMPI_MCA_btl", "OMPI_MCA_coll", "OMPI_MCA_mtl", "OMPI_MCA_pml", "CUDA_",
};

std::string value_of(const NamedValues& environment, std::string_view name) {
    const auto found = std::ranges::find(environment, name, &NamedValues::value_type::first);
    return found == environment.end() ? "" : found->second;
}

// The name in "mlx5_3:1". Empty if there is no port or several.
std::string single_port(std::string_view value) {
    constexpr std::string_view first_port = ":1";
    const std::size_t colon = value.find(':');
    if (colon == std::string_view::npos || value.find(',') != std::string_view::npos) return "";
    return std::string(value.substr(colon) == first_port ? value.substr(0, colon) : value);
}

// Sets the value of a local rank, unless it is empty.
void set_at(std::vector<std::string>& values, std::uint32_t local_rank, std::string value) {
    if (value.empty()) return;
    if (values.size() <= local_rank) values.resize(local_rank + std::size_t{1});
    values[local_rank] = std::move(value);
}

}  // namespace

World world_of(const std::vector<Peer>& peers) {
    World world;
    world.peers = peers;
    world.node_of_rank.reserve(peers.size());
    std::map<std::string, std::uint32_t> known;
    for (const Peer& peer : peers) {
        const auto next = static_cast<std::uint32_t>(world.nodes.size());
        const auto [found, is_new] = known.try_emplace(peer.host, next);
        if (is_new) {
            world.nodes.push_back({peer.host, 0, {}, {}, peer.switches});
            world.ranks_of_node.emplace_back();
        }
        ++world.nodes[found->second].ranks;
        world.ranks_of_node[found->second].push_back(
            static_cast<std::uint32_t>(world.node_of_rank.size()));
        world.node_of_rank.push_back(found->second);
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
    std::ranges::sort(ranks);
    return ranks;
}

NamedValues recorded_environment(const char* const* environment) {
    NamedValues variables;
    for (; *environment != nullptr; ++environment) {
        const std::string_view entry(*environment);
        const std::size_t equals = entry.find('=');
        const bool is_recorded = std::ranges::any_of(
            recorded_prefixes, [&](auto beginning) { return entry.starts_with(beginning); });
        if (!is_recorded || equals == std::string_view::npos) continue;
        variables.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
    }
    std::ranges::sort(variables);
    return variables;
}

// Without '=', NCCL_IB_HCA contains prefixes of names; with '^', those to exclude.
std::string port_of_rank(const NamedValues& environment) {
    const std::string nccl = value_of(environment, "NCCL_IB_HCA");
    const bool exact = nccl.rfind('=', 0) == 0;
    std::string port = exact ? single_port(std::string_view(nccl).substr(1)) : "";
    return port.empty() ? single_port(value_of(environment, "UCX_NET_DEVICES")) : port;
}

std::string devices_text(const std::string& gpu, const std::string& port,
                         const std::string& fault) {
    return JsonText{{"gpu", gpu}, {"port", port}, {"fault", fault}}.line();
}

std::optional<Error> add_devices(World& world, const std::vector<std::string>& texts) {
    for (std::uint32_t rank = 0; rank < texts.size(); ++rank) {
        Node& node = world.nodes[world.node_of_rank[rank]];
        const std::uint32_t local_rank = world.peers[rank].local_rank;
        auto error = read_answer(world.peers, rank, texts[rank], [&](const JsonFields& fields) {
            set_at(node.gpus, local_rank, fields.text("gpu"));
            set_at(node.rails, local_rank, fields.text("port"));
            if (node.fault.empty()) node.fault = printable(fields.text("fault"));
        });
        if (error) return error;
    }
    return std::nullopt;
}

// Uses a shell to print the line only if the status is 1, which means that a device is missing.
std::string run_node_check() {
    constexpr std::chrono::seconds time_limit{4};
    constexpr const char* script =
        R"([ -x "$0" ] || set -- distgpu; t=$("${1:-$0}" check --node); [ $? != 1 ] || echo "$t")";
    std::error_code unreadable;
    const auto own = std::filesystem::read_symlink("/proc/self/exe", unreadable);
    const auto text = run_command(
        {"/bin/sh", "-c", script, (own.parent_path() / "distgpu").string()}, time_limit);
    if (!text) return "";
    const std::string line = printable(text->substr(0, text->find('\n')));
    const std::size_t colon = line.find(": ");  // "node03: GPU 0000:3b:00.0 (H100): gone"
    return colon == std::string::npos ? line : line.substr(colon + 2);
}

}  // namespace distgpu::scaling
