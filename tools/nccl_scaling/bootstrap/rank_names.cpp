// See rank_names.h.
#include "bootstrap/rank_names.h"

#include "base/format.h"
#include "node/step_environment.h"

#include <utility>

namespace distgpu::scaling {
namespace {

std::string numbered(std::uint32_t rank) {
    return formatted("rank {}", rank);
}

std::string placed(std::uint32_t rank, const std::string& host) {
    return formatted("rank {} on {}", rank, host);
}

}  // namespace

RankNames names_of_step(const Environment& environment) {
    auto layout = derive_layout(read_step_environment(environment));
    if (!layout || !*layout) return numbered;
    return [layout = std::move(**layout)](std::uint32_t rank) {
        if (rank >= layout.task_count()) return numbered(rank);
        return placed(rank, layout.hosts().name(layout.place(TaskId{rank}).node));
    };
}

RankNames names_of_peers(std::vector<Peer> peers) {
    return
        [peers = std::move(peers)](std::uint32_t rank) { return placed(rank, peers[rank].host); };
}

}  // namespace distgpu::scaling
