// What messages call a rank.
#pragma once

#include "base/environment.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace distgpu::scaling {

// "rank 5 on node03", or "rank 5" where its node is not known.
using RankNames = std::function<std::string(std::uint32_t rank)>;

// From what Slurm and distgpu say of the step, before any rank has been heard of.
RankNames names_of_step(const Environment& environment);

// Where each rank runs, as it said itself.
struct Peer {
    std::string host;
    std::uint32_t local_rank = 0;
    std::string switches{};  // Membership::switches

    bool operator==(const Peer&) const = default;
};

// Those of ranks that are all known, by rank.
RankNames names_of_peers(std::vector<Peer> peers);

}  // namespace distgpu::scaling
