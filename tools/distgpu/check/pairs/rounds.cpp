#include "check/pairs/rounds.h"

namespace distgpu {

std::vector<PairRound> pair_rounds(std::uint32_t place, std::uint32_t nodes) {
    std::vector<PairRound> rounds;
    for (std::uint64_t distance = 1; distance < nodes; distance *= 2) {
        const std::uint64_t to = (place + distance) % nodes;
        const std::uint64_t from = (std::uint64_t{place} + nodes - distance) % nodes;
        rounds.push_back({static_cast<std::uint32_t>(to), static_cast<std::uint32_t>(from)});
    }
    return rounds;
}

}  // namespace distgpu
