#include "analysis/retest.h"

#include <algorithm>
#include <cstddef>

namespace distgpu::scaling {
namespace {

using Nodes = std::vector<std::uint32_t>;

// A port that is 15 % slower, with 3 % of noise on each match, stands out of eight.
constexpr std::uint32_t rounds_of_retest = 8;

Round round_of(const Nodes& named, const Nodes& others, std::size_t round) {
    const std::size_t stride = std::max<std::size_t>(1, others.size() / rounds_of_retest);
    Nodes moved = others;
    std::rotate(moved.begin(),
                moved.begin() + static_cast<std::ptrdiff_t>(round * stride % others.size()),
                moved.end());
    Round pairs;
    for (std::size_t i = 0; i < named.size(); ++i) pairs.push_back(pair_of(named[i], moved[i]));
    const std::size_t half = (moved.size() - named.size()) / 2;
    for (std::size_t i = 0; i < half; ++i) {
        const std::size_t first = named.size() + i;
        const std::size_t second = named.size() + half + (i + round) % half;
        pairs.push_back(pair_of(moved[first], moved[second]));
    }
    return pairs;
}

}  // namespace

Nodes nodes_to_retest(const Blame& blame, std::uint32_t nodes) {
    std::vector<Finding> findings = blame.findings;
    std::stable_sort(findings.begin(), findings.end(),
                     [](const Finding& a, const Finding& b) { return a.relative < b.relative; });
    Nodes named;
    for (const Finding& finding : findings) {
        const bool known =
            std::find(named.begin(), named.end(), finding.limiter.node) != named.end();
        if (is_of_a_node(finding.limiter) && !known && named.size() < nodes / 2) {
            named.push_back(finding.limiter.node);
        }
    }
    return named;
}

std::vector<Round> retest_rounds(const Nodes& named, std::uint32_t nodes) {
    Nodes others;
    for (std::uint32_t node = 0; node < nodes; ++node) {
        if (std::find(named.begin(), named.end(), node) == named.end()) others.push_back(node);
    }
    std::vector<Round> rounds;
    for (std::size_t round = 0; !named.empty() && round < rounds_of_retest; ++round) {
        rounds.push_back(round_of(named, others, round));
    }
    return rounds;
}

}  // namespace distgpu::scaling
