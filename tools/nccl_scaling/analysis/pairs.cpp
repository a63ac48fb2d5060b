#include "analysis/pairs.h"

#include <algorithm>
#include <cstddef>

namespace distgpu::scaling {

namespace {

// `places` is even; if the last place is not below `nodes`, it is empty and its opponent has a bye.
Round tournament_round(std::uint32_t nodes, std::uint32_t places, std::uint32_t round) {
    const std::uint32_t moving = places - 1;
    Round pairs;
    pairs.reserve(nodes / 2);
    // Moving places a and b meet if a + b = 2 round (modulo their number, which is odd); the place
    // that would meet itself meets the fixed one.
    if (moving < nodes) pairs.push_back({.first = round, .second = moving});
    for (std::uint32_t distance = 1; distance < places / 2; ++distance) {
        pairs.push_back(
            ordered_pair((round + distance) % moving, (round + moving - distance) % moving));
    }
    return pairs;
}

using Nodes = std::vector<std::uint32_t>;

// Eight matches are enough to detect a port that is 15 % slower, with 3 % noise on each match.
constexpr std::uint32_t rounds_of_retest = 8;

Round retest_round(const Nodes& named, const Nodes& others, std::size_t round) {
    const std::size_t stride = std::max<std::size_t>(1, others.size() / rounds_of_retest);
    Nodes moved = others;
    std::rotate(moved.begin(),
                moved.begin() + static_cast<std::ptrdiff_t>(round * stride % others.size()),
                moved.end());
    Round pairs;
    for (std::size_t i = 0; i < named.size(); ++i) {
        pairs.push_back(ordered_pair(named[i], moved[i]));
    }
    const std::size_t half = (moved.size() - named.size()) / 2;
    for (std::size_t i = 0; i < half; ++i) {
        const std::size_t first = named.size() + i;
        const std::size_t second = named.size() + half + (i + round) % half;
        pairs.push_back(ordered_pair(moved[first], moved[second]));
    }
    return pairs;
}

}  // namespace

std::vector<Round> tournament(std::uint32_t nodes, std::uint32_t matches) {
    if (nodes < 2) return {};
    const std::uint64_t places = nodes + nodes % 2;
    const std::uint64_t whole = places - 1;  // rounds of one tournament
    const std::uint64_t each = nodes - 1;    // matches of each node in it
    // With an odd number of nodes, each has at most one bye in a part of a tournament.
    std::uint64_t played = matches + nodes % 2;
    if (nodes == 2)
        played = 1;
    else if (each < matches)
        played = (matches + each - 1) / each * whole;
    std::vector<Round> rounds;
    rounds.reserve(played);
    for (std::uint64_t index = 0; index < played; ++index) {
        const auto round = played < whole ? index * whole / played : index % whole;
        rounds.push_back(tournament_round(nodes, static_cast<std::uint32_t>(places),
                                          static_cast<std::uint32_t>(round)));
    }
    return rounds;
}

std::vector<Round> retest_rounds(const Nodes& named, std::uint32_t nodes) {
    Nodes others;
    for (std::uint32_t node = 0; node < nodes; ++node) {
        if (std::ranges::find(named, node) == named.end()) others.push_back(node);
    }
    std::vector<Round> rounds;
    for (std::size_t round = 0; !named.empty() && round < rounds_of_retest; ++round) {
        rounds.push_back(retest_round(named, others, round));
    }
    return rounds;
}

}  // namespace distgpu::scaling
