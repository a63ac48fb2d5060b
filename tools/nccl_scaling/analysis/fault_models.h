// The causes that are tried as explanations of slow matches, each with the matches that it would
// slow: one node, all nodes on a switch, what leaves a switch, what goes between switches.
#pragma once

#include "analysis/evidence.h"
#include "analysis/limiter.h"

#include <cstdint>
#include <vector>

namespace distgpu::scaling {

struct FaultModel {
    Limiter limiter;
    std::vector<std::uint32_t> matches;  // indices, ascending
    // A switch would slow the same matches: the node is alone on it.
    bool also_switch = false;
};

// The nodes come first, by number; only those with two partners or more, since with one a node
// would answer for that partner. Of causes with the same matches there is one model: with two
// switches, the uplink of either is the spine. Where no switches are known, they are clusters
// of nodes that are fast among each other and slow between them, if there are such.
std::vector<FaultModel> fault_models(const Evidence& evidence);

}  // namespace distgpu::scaling
