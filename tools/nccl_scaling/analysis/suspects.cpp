#include "analysis/suspects.h"

#include "analysis/collectives.h"
#include "analysis/statistics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace distgpu::scaling {
namespace {

using Leaf = std::optional<std::uint32_t>;
using Leaves = std::vector<Leaf>;  // by node
using Matches = std::vector<Evidence::Match>;
using Kind = Limiter::Kind;

// Relative standard error of the median of a measurement's iterations. It is estimated from the
// fast side, which has no disturbances: the fifth percentile is 1.645 standard deviations below the
// median.
double relative_error_of(const Statistics& time) {
    if (time.iterations < 2 || !(time.p5 > 0) || time.p5 > time.median) return 0;
    const double sigma = (1 - time.p5 / time.median) / 1.645;
    return median_error_factor * sigma / std::sqrt(static_cast<double>(time.iterations));
}

std::size_t nodes_in(const Matches& matches) {
    std::size_t count = 0;
    for (const auto& match : matches) count = std::max<std::size_t>(count, match.pair.second + 1);
    return count;
}

// 0 if the bandwidth is not usable. The limits keep the quotient of two bandwidths from a hostile
// file finite.
double usable_bandwidth(const Results& results, const Measurement& one) {
    const double rate = bus_bandwidth(results, one).value_or(0);
    return rate >= 1e-6 && rate <= 1e18 ? rate : 0;
}

// Then no traffic crosses switches, even if the rates of a few pairs look like it.
bool are_on_one_switch(const Evidence& evidence) {
    const auto& leaves = evidence.leaves;
    return !leaves.empty() && !leaves.front().empty() &&
           std::ranges::count(leaves, leaves.front()) == std::ssize(leaves);
}

// Empty if all nodes are on one switch, because that explains no difference.
Leaves known_leaves(const Evidence& evidence, std::size_t nodes) {
    std::map<std::string, std::uint32_t> numbers;
    Leaves leaves(nodes);
    for (std::size_t node = 0; node < std::min(nodes, evidence.leaves.size()); ++node) {
        const auto& name = evidence.leaves[node];
        if (name.empty()) continue;
        leaves[node] =
            numbers.try_emplace(name, static_cast<std::uint32_t>(numbers.size())).first->second;
    }
    return numbers.size() > 1 ? leaves : Leaves{};
}

class SuspectList {
  public:
    explicit SuspectList(const Matches& matches) : matches_(matches) {}

    template <class Predicate>
    void add_if(Limiter limiter, Predicate is_slowed) {
        std::vector<std::uint32_t> chosen;
        for (std::uint32_t i = 0; i < matches_.size(); ++i) {
            if (is_slowed(matches_[i].pair)) chosen.push_back(i);
        }
        add_suspect(limiter, std::move(chosen));
    }

    void add_suspect(Limiter limiter, std::vector<std::uint32_t> chosen) {
        if (chosen.size() < 2 || chosen.size() == matches_.size()) return;
        const auto [known, is_new] = known_.try_emplace(chosen, suspects_.size());
        if (is_new) {
            suspects_.push_back({limiter, std::move(chosen)});
            return;
        }
        auto& same = suspects_[known->second];
        if (same.limiter.kind == Kind::node) {
            same.is_alone_on_switch = true;
        } else if (same.limiter.kind == Kind::uplink) {
            same.limiter = {.kind = Kind::spine};
        } else {
            same.limiter = limiter;  // no match within the switch
        }
    }

    std::vector<Suspect> release() && { return std::move(suspects_); }

  private:
    const Matches& matches_;
    std::vector<Suspect> suspects_;
    std::map<std::vector<std::uint32_t>, std::size_t> known_;
};

void add_nodes(SuspectList& suspects, const Matches& matches) {
    std::map<std::uint32_t, std::vector<std::uint32_t>> played;
    std::map<std::uint32_t, std::set<std::uint32_t>> partners;
    for (std::uint32_t i = 0; i < matches.size(); ++i) {
        const auto [first, second] = matches[i].pair;
        for (const auto& [node, partner] : {std::pair(first, second), std::pair(second, first)}) {
            played[node].push_back(i);
            partners[node].insert(partner);
        }
    }
    for (auto& [node, chosen] : played) {
        if (partners[node].size() > 1) suspects.add_suspect({.node = node}, std::move(chosen));
    }
}

// Groups the nodes that are connected by fast pairs, each named after its first node.
Leaves connect_fast_pairs(const std::map<Pair, double>& pairs, double fast, std::size_t nodes) {
    Leaves leaves(nodes);
    for (bool changed = true; std::exchange(changed, false);) {
        for (const auto& [pair, rate] : pairs) {
            if (rate < fast) continue;
            auto& one = leaves[pair.first];
            auto& other = leaves[pair.second];
            const auto first = std::min(one.value_or(pair.first), other.value_or(pair.first));
            changed = changed || one != first || other != first;
            one = other = first;
        }
    }
    return leaves;
}

// Two or more clusters of nodes that are fast among each other and slow between clusters; together
// they hold most of the nodes. nullopt for a node outside of them; empty if there are no clusters.
Leaves clusters_of(const Matches& matches) {
    std::map<Pair, std::vector<double>> played;
    for (const auto& match : matches) played[match.pair].push_back(match.bandwidth);
    std::map<Pair, double> pairs;
    std::vector<double> sorted;
    sorted.reserve(played.size());
    for (auto& [pair, rates] : played) {
        sorted.push_back(pairs[pair] = median(std::move(rates)));
    }
    std::ranges::sort(sorted);
    // With many small clusters, only few pairs are fast.
    for (const double p : {0.7, 0.85, 0.95, 1.0}) {
        if (sorted.empty()) break;
        const double fast = 0.85 * quantile_of_sorted(sorted, p);
        auto leaves = connect_fast_pairs(pairs, fast, nodes_in(matches));
        std::map<Leaf, std::vector<double>> within;
        std::size_t between = 0;
        for (const auto& [pair, rate] : pairs) {
            const auto& leaf = leaves[pair.first];
            if (!leaf || !leaves[pair.second]) continue;
            if (leaf == leaves[pair.second]) {
                within[leaf].push_back(rate);
            } else {
                ++between;
            }
        }
        std::vector<double> levels;  // medians of the clusters that are fast within
        for (auto& [leaf, rates] : within) {
            std::ranges::sort(rates);
            if (quantile_of_sorted(rates, 0.1) >= fast) {
                levels.push_back(quantile_of_sorted(rates, 0.5));
            }
        }
        const auto alone = static_cast<std::size_t>(std::ranges::count(leaves, Leaf{}));
        if (4 * alone > leaves.size() || between < 2 || levels.size() < within.size()) continue;
        const auto [least, most] = std::ranges::minmax(levels);
        if (least > 0.95 * most) return leaves;
    }
    return {};
}

}  // namespace

Evidence evidence_of(const Results& results) {
    std::map<Group::Kind, Operation> main;
    for (const auto& one : results.measurements) {
        const auto place = main.try_emplace(results.groups[one.group].kind, one.operation).first;
        if (one.operation.bytes > place->second.bytes) place->second = one.operation;
    }
    Evidence evidence;
    std::vector<double> all_nodes;
    std::set<std::uint32_t> playing;
    std::uint32_t round = 0;
    for (const auto& one : results.measurements) {
        const auto& group = results.groups[one.group];
        const double rate = usable_bandwidth(results, one);
        if (rate == 0) continue;
        const auto of_pairs = main.find(Group::Kind::pair);
        if (of_pairs != main.end() && one.operation == of_pairs->second &&
            is_world(results, group)) {
            all_nodes.push_back(rate);
        }
        if (one.operation != main.at(group.kind)) continue;
        if (group.kind == Group::Kind::rail) evidence.rails[group.number].push_back(rate);
        if (group.kind == Group::Kind::node) evidence.nodes_alone[group.nodes[0]].push_back(rate);
        if (group.nodes.size() < 2) continue;
        const Pair pair = ordered_pair(group.nodes[0], group.nodes[1]);
        if (group.kind == Group::Kind::pair_rail) {
            evidence.pair_rails.push_back({pair, group.number, rate});
        } else if (group.kind == Group::Kind::pair) {
            // A new round begins when a node would play twice.
            if (playing.count(pair.first) + playing.count(pair.second) > 0) {
                ++round;
                playing.clear();
            }
            playing.insert({pair.first, pair.second});
            evidence.matches.push_back({pair, rate, round, relative_error_of(one.time)});
        }
    }
    if (!all_nodes.empty()) evidence.all_nodes_bandwidth = median(std::move(all_nodes));
    for (const Node& node : results.nodes) evidence.leaves.push_back(leaf_of(node));
    return evidence;
}

std::vector<Suspect> suspects_of(const Evidence& evidence) {
    const auto& matches = evidence.matches;
    SuspectList suspects(matches);
    add_nodes(suspects, matches);
    auto leaves = known_leaves(evidence, nodes_in(matches));
    std::map<std::uint32_t, std::uint32_t> first_node;  // by known leaf
    for (std::uint32_t node = 0; node < leaves.size(); ++node) {
        if (leaves[node]) first_node.try_emplace(*leaves[node], node);
    }
    for (const auto& [leaf, node] : first_node) {
        const auto on = [&, leaf = leaf](std::uint32_t one) { return leaves[one] == leaf; };
        suspects.add_if({.kind = Kind::leaf, .node = node},
                        [&](const Pair& pair) { return on(pair.first) || on(pair.second); });
        suspects.add_if({.kind = Kind::uplink, .node = node},
                        [&](const Pair& pair) { return on(pair.first) != on(pair.second); });
    }
    if (leaves.empty() && !are_on_one_switch(evidence)) leaves = clusters_of(matches);
    if (leaves.empty()) return std::move(suspects).release();
    suspects.add_if({.kind = Kind::spine}, [&](const Pair& pair) {
        return leaves[pair.first] && leaves[pair.second] &&
               leaves[pair.first] != leaves[pair.second];
    });
    return std::move(suspects).release();
}

}  // namespace distgpu::scaling
