#include "analysis/pair_scores.h"

#include "analysis/statistics.h"

#include <algorithm>
#include <map>

namespace distgpu::scaling {

std::vector<PairScore> pair_scores(const std::vector<Evidence::Match>& matches, const MatchFit& fit,
                                   const std::vector<std::uint32_t>& unexplained) {
    struct Played {
        std::vector<double> relative;
        std::size_t low = 0;
    };
    std::map<Pair, Played> pairs;
    for (std::size_t i = 0; i < matches.size(); ++i) {
        pairs[matches[i].pair].relative.push_back(fit.relative[i]);
    }
    for (const auto match : unexplained) ++pairs[matches[match].pair].low;
    std::vector<PairScore> scores;
    scores.reserve(pairs.size());
    for (auto& [pair, played] : pairs) {
        const auto times = played.relative.size();
        scores.push_back({.pair = pair,
                          .relative = median(std::move(played.relative)),
                          .matches = times,
                          .collision = 2 * played.low > times});
    }
    return scores;
}

bool paths_collide(const std::vector<std::uint32_t>& unexplained,
                   const std::vector<PairScore>& pairs) {
    std::size_t matches = 0;
    for (const auto& pair : pairs) matches += pair.matches;
    if (unexplained.size() >= std::max<std::size_t>(3, matches / 100)) return true;
    return std::any_of(pairs.begin(), pairs.end(),
                       [](const PairScore& pair) { return pair.collision && pair.matches > 1; });
}

}  // namespace distgpu::scaling
