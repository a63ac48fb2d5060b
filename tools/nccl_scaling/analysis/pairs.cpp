// The circle method.
#include "analysis/pairs.h"

#include <cstddef>

namespace distgpu::scaling {

namespace {

// `seats` is even; the last seat is empty where it is not below `nodes`: its opponent has a bye.
Round round_of(std::uint32_t nodes, std::uint32_t seats, std::uint32_t round) {
    const std::uint32_t moving = seats - 1;
    Round pairs;
    pairs.reserve(nodes / 2);
    // Of the moving seats, a and b meet where a + b = 2 round (mod their number, which is odd);
    // the one that would meet itself meets the seat that stays.
    if (moving < nodes) pairs.push_back({.first = round, .second = moving});
    for (std::uint32_t distance = 1; distance < seats / 2; ++distance) {
        pairs.push_back(pair_of((round + distance) % moving, (round + moving - distance) % moving));
    }
    return pairs;
}

}  // namespace

std::vector<Round> tournament(std::uint32_t nodes, std::uint32_t matches) {
    if (nodes < 2) return {};
    const std::uint64_t seats = nodes + nodes % 2;
    const std::uint64_t whole = seats - 1;  // rounds of one tournament
    const std::uint64_t each = nodes - 1;   // matches of each node in it
    // Of a part of one with an odd number of nodes, each node has at most one bye.
    std::uint64_t played = matches + nodes % 2;
    if (nodes == 2)
        played = 1;
    else if (each < matches)
        played = (matches + each - 1) / each * whole;
    std::vector<Round> rounds;
    rounds.reserve(played);
    for (std::uint64_t index = 0; index < played; ++index) {
        const auto round = played < whole ? index * whole / played : index % whole;
        rounds.push_back(
            round_of(nodes, static_cast<std::uint32_t>(seats), static_cast<std::uint32_t>(round)));
    }
    return rounds;
}

}  // namespace distgpu::scaling
