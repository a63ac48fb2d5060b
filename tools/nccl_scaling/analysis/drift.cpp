#include "analysis/drift.h"

#include "analysis/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace distgpu::scaling {
namespace {

// Of the run's parts, which have as many rounds each. The upper part of the matches, which an
// intermittent node of a small cluster does not move. Where a part has no match: as before.
std::vector<double> levels_of(const std::vector<Evidence::Match>& matches, const MatchFit& fit,
                              double rounds_of_part, std::size_t parts) {
    std::vector<std::vector<double>> residuals(parts);
    for (std::size_t i = 0; i < matches.size(); ++i) {
        const auto part = static_cast<std::size_t>(matches[i].round / rounds_of_part);
        residuals[std::min(part, parts - 1)].push_back(fit.relative[i] / fit.expected[i]);
    }
    std::vector<double> levels;
    levels.reserve(parts);
    for (auto& part : residuals) {
        std::sort(part.begin(), part.end());
        if (part.empty()) {
            levels.push_back(levels.empty() ? 1 : levels.back());
        } else {
            levels.push_back(percentile(part, 0.7));
        }
    }
    return levels;
}

}  // namespace

std::vector<double> drift_of(const std::vector<Evidence::Match>& matches, const MatchFit& fit) {
    constexpr std::size_t least_matches = 12;
    constexpr std::size_t most_parts = 8;
    const std::size_t parts =
        std::clamp<std::size_t>(matches.size() / least_matches, 1, most_parts);
    const double rounds_of_part = (matches.back().round + 1.0) / static_cast<double>(parts);
    const auto levels = levels_of(matches, fit, rounds_of_part, parts);
    const double middle = median(levels);
    if (*std::min_element(levels.begin(), levels.end()) > (1 - least_effect) * middle) return {};
    std::vector<double> drift;
    drift.reserve(matches.size());
    for (const auto& match : matches) {
        const double place = std::clamp((match.round + 0.5) / rounds_of_part - 0.5, 0.0,
                                        static_cast<double>(parts - 1));
        const auto part = static_cast<std::size_t>(place);
        const double level = std::lerp(levels[part], levels[std::min(part + 1, parts - 1)],
                                       place - static_cast<double>(part));
        drift.push_back(level / middle);
    }
    return drift;
}

}  // namespace distgpu::scaling
