#include "bootstrap/rank_names.h"

#include "base/format.h"
#include "node/step_variables.h"
#include "slurm/step_environment.h"

#include <optional>
#include <utility>

namespace distgpu::scaling {
namespace {

std::string numbered(std::uint32_t rank) {
    return formatted("rank {}", rank);
}

std::string placed(std::uint32_t rank, const std::string& host) {
    return formatted("rank {} on {}", rank, host);
}

// What distgpu handed on comes first: Slurm's variables know nothing of an order of the nodes.
std::optional<StepLayout> layout_of_step(const Environment& environment) {
    if (auto handed = handed_layout(environment)) {
        return *handed ? std::optional(**std::move(handed)) : std::nullopt;
    }
    auto derived = derive_layout(read_step_environment(environment));
    return derived ? *std::move(derived) : std::nullopt;
}

}  // namespace

RankNames names_of_step(const Environment& environment) {
    auto layout = layout_of_step(environment);
    if (!layout) return numbered;
    return [layout = *std::move(layout)](std::uint32_t rank) {
        if (rank >= layout.task_count()) return numbered(rank);
        return placed(rank, layout.hosts().name(layout.place(GlobalRank{rank}).node));
    };
}

RankNames names_of_peers(std::vector<Peer> peers) {
    return
        [peers = std::move(peers)](std::uint32_t rank) { return placed(rank, peers[rank].host); };
}

}  // namespace distgpu::scaling
