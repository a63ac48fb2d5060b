// Scores of pairs, nodes and rails, and what follows from them.
#include "analysis/blame.h"

#include "analysis/statistics.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

namespace distgpu::scaling {

namespace {

// By node or local rank.
using Measured = std::map<std::uint32_t, std::vector<double>>;

// Compares with peers of its own kind.
bool is_low(double value, const Peers& peers) {
    if (value >= low_share * peers.median) return false;
    const auto z = peers.robust_z(value);
    // Without a spread any difference is far outside it.
    return !z || *z < low_z(peers.count);
}

std::vector<PairScore> pair_scores(std::vector<Evidence::Match> matches) {
    std::sort(matches.begin(), matches.end(), [](const auto& a, const auto& b) {
        return std::tie(a.pair, a.bandwidth) < std::tie(b.pair, b.bandwidth);
    });
    std::vector<PairScore> scores;
    scores.reserve(matches.size());
    std::vector<double> bandwidths;
    for (auto next = matches.begin(); next != matches.end();) {
        const auto pair = next->pair;
        bandwidths.clear();
        for (; next != matches.end() && next->pair == pair; ++next) {
            bandwidths.push_back(next->bandwidth);
        }
        scores.push_back({.pair = pair, .bandwidth = percentile(bandwidths, 0.5)});
    }
    return scores;
}

std::vector<NodeScore> node_scores(const std::vector<PairScore>& pairs) {
    Measured of_node;
    for (const auto& pair : pairs) {
        of_node[pair.pair.first].push_back(pair.bandwidth);
        of_node[pair.pair.second].push_back(pair.bandwidth);
    }
    std::vector<NodeScore> scores;
    scores.reserve(of_node.size());
    for (auto& [node, bandwidths] : of_node) {
        // With one partner it would answer for that partner.
        if (bandwidths.size() < 2) continue;
        scores.push_back({.node = node, .bandwidth = upper_median(std::move(bandwidths))});
    }
    return scores;
}

template <class Score>
Peers peers_among(const std::vector<Score>& scores) {
    std::vector<double> bandwidths;
    bandwidths.reserve(scores.size());
    for (const auto& score : scores) bandwidths.push_back(score.bandwidth);
    return peers_of(bandwidths);
}

Measured matches_of_nodes(const std::vector<Evidence::Match>& matches) {
    Measured of_node;
    for (const auto& match : matches) {
        of_node[match.pair.first].push_back(match.bandwidth);
        of_node[match.pair.second].push_back(match.bandwidth);
    }
    return of_node;
}

double share_below(double limit, const std::vector<double>& values) {
    const auto below =
        std::count_if(values.begin(), values.end(), [&](double value) { return value < limit; });
    return static_cast<double>(below) / static_cast<double>(values.size());
}

void mark_slow(std::vector<NodeScore>& nodes, const Measured& matches) {
    const auto peers = peers_among(nodes);
    for (auto& node : nodes) {
        node.relative = node.bandwidth / peers.median;
        node.z = peers.robust_z(node.bandwidth);
        node.low_matches = share_below(low_share * peers.median, matches.at(node.node));
        node.slow = is_low(node.bandwidth, peers) && node.low_matches >= often;
    }
}

// Precondition: `nodes` is sorted by node.
const NodeScore* score_of(std::uint32_t node, const std::vector<NodeScore>& nodes) {
    const auto place = std::lower_bound(
        nodes.begin(), nodes.end(), node,
        [](const NodeScore& score, std::uint32_t wanted) { return score.node < wanted; });
    return place != nodes.end() && place->node == node ? &*place : nullptr;
}

// Only pairs of two nodes that are well: the others' slowness is explained.
void mark_collisions(std::vector<PairScore>& pairs, const std::vector<NodeScore>& nodes) {
    const auto well = [&](std::uint32_t node) {
        const auto* score = score_of(node, nodes);
        return score != nullptr && !score->slow;
    };
    const auto unexplained = std::partition(pairs.begin(), pairs.end(), [&](const PairScore& pair) {
        return !well(pair.pair.first) || !well(pair.pair.second);
    });
    const auto peers = peers_among(std::vector<PairScore>(unexplained, pairs.end()));
    for (auto& pair : pairs) {
        if (peers.median > 0) pair.relative = pair.bandwidth / peers.median;
    }
    for (auto pair = unexplained; pair != pairs.end(); ++pair) {
        pair->collision = is_low(pair->bandwidth, peers);
    }
    std::sort(pairs.begin(), pairs.end(),
              [](const PairScore& a, const PairScore& b) { return a.pair < b.pair; });
}

// A node has few rails, often two, whose spread says nothing. What holds for a node's partners
// holds for them: the faster half shows what the others could do.
std::vector<RailScore> rail_scores(const std::vector<Evidence::Rail>& rails) {
    Measured of_rail;
    for (const auto& rail : rails) of_rail[rail.local_rank].push_back(rail.bandwidth);
    std::vector<RailScore> scores;
    std::vector<double> bandwidths;
    scores.reserve(of_rail.size());
    bandwidths.reserve(of_rail.size());
    for (const auto& [local_rank, measured] : of_rail) {
        bandwidths.push_back(median(measured));
        scores.push_back({.local_rank = local_rank, .bandwidth = bandwidths.back()});
    }
    if (scores.empty()) return scores;
    const double usual = upper_median(std::move(bandwidths));
    for (auto& score : scores) {
        const auto low = share_below(low_share * usual, of_rail.at(score.local_rank));
        score.relative = score.bandwidth / usual;
        score.slow = score.relative < low_share && low >= often;
    }
    return scores;
}

template <class Score>
std::vector<Score> slow_among(const std::vector<Score>& scores) {
    std::vector<Score> slow;
    std::copy_if(scores.begin(), scores.end(), std::back_inserter(slow),
                 [](const Score& score) { return score.slow; });
    return slow;
}

// A node that is slow altogether slows all rails alike. So where one rail is slower than the
// others, every slow node is slow by that rail, and where no node is slow, the rail is slow
// everywhere. With several of both it stays open which rail is slow on which node.
std::vector<Limiter> limiters(const std::vector<NodeScore>& nodes,
                              const std::vector<RailScore>& rails) {
    std::vector<Limiter> found;
    if (nodes.empty()) {
        found.reserve(rails.size());
        for (const auto& rail : rails) {
            found.push_back({.kind = Limiter::Kind::rail, .local_rank = rail.local_rank});
        }
    } else if (!rails.empty() && (nodes.size() == 1 || rails.size() == 1)) {
        found.reserve(nodes.size() * rails.size());
        for (const auto& node : nodes) {
            for (const auto& rail : rails) {
                found.push_back({.kind = Limiter::Kind::node_rail,
                                 .node = node.node,
                                 .local_rank = rail.local_rank});
            }
        }
    } else {
        found.reserve(nodes.size());
        for (const auto& node : nodes) {
            found.push_back({.kind = Limiter::Kind::node, .node = node.node});
        }
    }
    return found;
}

}  // namespace

double low_z(std::size_t count) {
    return -std::max(3.5, std::sqrt(2 * std::log(10 * static_cast<double>(count))));
}

Blame blame(const Evidence& evidence) {
    Blame result;
    result.pairs = pair_scores(evidence.matches);
    result.nodes = node_scores(result.pairs);
    result.rails = rail_scores(evidence.rails);
    result.decidable = result.nodes.size() >= 3;
    mark_slow(result.nodes, matches_of_nodes(evidence.matches));
    mark_collisions(result.pairs, result.nodes);
    result.limiters = limiters(slow_among(result.nodes), slow_among(result.rails));
    return result;
}

}  // namespace distgpu::scaling
