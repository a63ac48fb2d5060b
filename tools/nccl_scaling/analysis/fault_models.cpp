#include "analysis/fault_models.h"

#include "analysis/statistics.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace distgpu::scaling {
namespace {

using Leaves = std::vector<std::optional<std::uint32_t>>;  // by node
using Matches = std::vector<Evidence::Match>;
using Kind = Limiter::Kind;

std::size_t nodes_in(const Matches& matches) {
    std::size_t count = 0;
    for (const auto& match : matches) count = std::max<std::size_t>(count, match.pair.second + 1);
    return count;
}

// Where all are on one switch, it explains nothing.
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

class Models {
  public:
    explicit Models(const Matches& matches) : matches_(matches) {}

    template <class Holds>
    void add(Limiter limiter, Holds holds) {
        std::vector<std::uint32_t> chosen;
        for (std::uint32_t i = 0; i < matches_.size(); ++i) {
            if (holds(matches_[i].pair)) chosen.push_back(i);
        }
        add(limiter, std::move(chosen));
    }

    void add(Limiter limiter, std::vector<std::uint32_t> chosen) {
        if (chosen.size() < 2 || chosen.size() == matches_.size()) return;
        const auto [known, is_new] = known_.try_emplace(chosen, models_.size());
        if (is_new) {
            models_.push_back({limiter, std::move(chosen)});
            return;
        }
        auto& same = models_[known->second];
        if (same.limiter.kind == Kind::node) {
            same.also_switch = true;
        } else if (same.limiter.kind == Kind::uplink) {
            same.limiter = {.kind = Kind::spine};
        } else {
            same.limiter = limiter;  // nothing within the switch was measured
        }
    }

    std::vector<FaultModel> take() && { return std::move(models_); }

  private:
    const Matches& matches_;
    std::vector<FaultModel> models_;
    std::map<std::vector<std::uint32_t>, std::size_t> known_;
};

void add_nodes(Models& models, const Matches& matches) {
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
        if (partners[node].size() > 1) models.add({.node = node}, std::move(chosen));
    }
}

void add_switches(Models& models, const Leaves& leaves) {
    std::map<std::uint32_t, std::uint32_t> one_of;  // leaf: a node there
    for (std::uint32_t node = 0; node < leaves.size(); ++node) {
        if (leaves[node]) one_of.try_emplace(*leaves[node], node);
    }
    for (const auto& [leaf, node] : one_of) {
        const auto on = [&, leaf = leaf](std::uint32_t one) { return leaves[one] == leaf; };
        models.add({.kind = Kind::leaf, .node = node},
                   [&](const Pair& pair) { return on(pair.first) || on(pair.second); });
        models.add({.kind = Kind::uplink, .node = node},
                   [&](const Pair& pair) { return on(pair.first) != on(pair.second); });
    }
}

void add_spine(Models& models, const Leaves& leaves) {
    models.add({.kind = Kind::spine}, [&](const Pair& pair) {
        return leaves[pair.first] && leaves[pair.second] &&
               leaves[pair.first] != leaves[pair.second];
    });
}

std::map<Pair, double> pair_medians(const Matches& matches) {
    std::map<Pair, std::vector<double>> played;
    for (const auto& match : matches) played[match.pair].push_back(match.bandwidth);
    std::map<Pair, double> medians;
    for (auto& [pair, values] : played) medians[pair] = median(std::move(values));
    return medians;
}

// Nodes that fast pairs connect; of those without a partner there, nothing.
Leaves connected(const std::map<Pair, double>& pairs, double fast, std::size_t nodes) {
    std::vector<std::uint32_t> root(nodes);
    std::iota(root.begin(), root.end(), 0U);
    const auto find = [&](std::uint32_t node) {
        while (root[node] != node) node = root[node] = root[root[node]];
        return node;
    };
    for (const auto& [pair, value] : pairs) {
        if (value >= fast) root[find(pair.first)] = find(pair.second);
    }
    std::vector<std::uint32_t> size(nodes);
    for (std::uint32_t node = 0; node < nodes; ++node) ++size[find(node)];
    Leaves leaves(nodes);
    for (std::uint32_t node = 0; node < nodes; ++node) {
        if (size[find(node)] > 1) leaves[node] = find(node);
    }
    return leaves;
}

// Two or more with most of the nodes, the pairs within each as fast as within the others.
bool are_clusters(const Leaves& leaves, const std::map<Pair, double>& pairs, double fast) {
    const auto in_one = std::count_if(leaves.begin(), leaves.end(),
                                      [](const auto& leaf) { return leaf.has_value(); });
    if (static_cast<std::size_t>(in_one) * 4 < leaves.size() * 3) return false;
    std::map<std::uint32_t, std::vector<double>> within;
    std::uint32_t between = 0;
    for (const auto& [pair, value] : pairs) {
        const auto& a = leaves[pair.first];
        const auto& b = leaves[pair.second];
        if (!a || !b) continue;
        if (a != b) {
            ++between;
        } else {
            within[*a].push_back(value);
        }
    }
    std::vector<double> levels;
    for (auto& [cluster, values] : within) {
        std::sort(values.begin(), values.end());
        if (percentile(values, 0.1) < fast) return false;
        levels.push_back(percentile(values, 0.5));
    }
    return between > 1 && levels.size() > 1 &&
           *std::min_element(levels.begin(), levels.end()) >
               0.95 * *std::max_element(levels.begin(), levels.end());
}

// Nothing of a node that is in none; empty: there are none.
Leaves clusters_of(const Matches& matches) {
    const auto pairs = pair_medians(matches);
    std::vector<double> values;
    values.reserve(pairs.size());
    for (const auto& [pair, value] : pairs) values.push_back(value);
    std::sort(values.begin(), values.end());
    // Of many small clusters few pairs are fast.
    for (const double share : {0.7, 0.85, 0.95, 1.0}) {
        if (values.empty()) break;
        const double fast = 0.85 * percentile(values, share);
        auto leaves = connected(pairs, fast, nodes_in(matches));
        if (are_clusters(leaves, pairs, fast)) return leaves;
    }
    return {};
}

}  // namespace

std::vector<FaultModel> fault_models(const Evidence& evidence) {
    Models models(evidence.matches);
    add_nodes(models, evidence.matches);
    auto leaves = known_leaves(evidence, nodes_in(evidence.matches));
    if (!leaves.empty()) {
        add_switches(models, leaves);
    } else {
        leaves = clusters_of(evidence.matches);
    }
    if (!leaves.empty()) add_spine(models, leaves);
    return std::move(models).take();
}

}  // namespace distgpu::scaling
