#include "analysis/peers.h"

#include "analysis/match_fit.h"
#include "analysis/statistics.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace distgpu::scaling {
namespace {

using Measured = std::map<std::uint32_t, std::vector<double>>;

// How far measurements are from the median of their own peer's; `otherwise` where there are few.
double noise_within(const Measured& measured, double otherwise) {
    std::vector<double> off;
    for (const auto& [number, values] : measured) {
        if (values.size() < 8) return otherwise;
        const double middle = median(values);
        for (const double value : values) off.push_back(std::abs(value / middle - 1));
    }
    return off.empty() ? otherwise : deviation_of(std::move(off));
}

SlowPeer slow_peer(std::uint32_t number, double effect, double error) {
    return {number, 1 - effect, error > 0 ? effect / error : 0};
}

}  // namespace

// Of few scores the spread is not known well: it counts as if three more differed as nodes usually
// do. The limit is what of 1,000 simulated clusters whose nodes differ by 4 % names somebody in
// fewer than 10 (tests/unit_scaling/analysis/simulated_rows.cpp).
double unusual_effect(const std::vector<double>& scores) {
    constexpr double usual = 0.015;
    constexpr double assumed = 3;
    if (scores.empty()) return 0;
    const double middle = median(scores);
    double squares = assumed * usual * usual;
    for (const double score : scores) squares += (score - middle) * (score - middle);
    const auto count = static_cast<double>(scores.size());
    return (7 + 6 / count) * std::sqrt(squares / (count - 1 + assumed));
}

// A node has few rails, often two, whose spread says nothing: the faster half shows what the others
// could do.
std::vector<SlowPeer> slow_rails(const std::vector<Evidence::Rail>& rails, double noise) {
    Measured measured;
    for (const auto& rail : rails) measured[rail.local_rank].push_back(rail.bandwidth);
    if (measured.size() < 2) return {};
    noise = noise_within(measured, noise);
    std::vector<double> medians;
    for (const auto& [number, values] : measured) medians.push_back(median(values));
    const double healthy = upper_median(medians);
    std::vector<SlowPeer> slow;
    for (const auto& [number, values] : measured) {
        const double effect = 1 - median(values) / healthy;
        const double error = standard_error(noise, values.size(), values.size());
        if (effect >= std::max(least_effect, far_off(measured.size()) * error)) {
            slow.push_back(slow_peer(number, effect, error));
        }
    }
    return slow;
}

// What disturbs a node now and then is not in it: its best measurement counts.
std::vector<SlowPeer> slow_alone(const std::vector<Evidence::Alone>& alone, double noise) {
    std::map<std::uint32_t, double> best;
    for (const auto& node : alone) best[node.node] = std::max(best[node.node], node.bandwidth);
    if (best.size() < 3) return {};
    std::vector<double> values;
    values.reserve(best.size());
    for (const auto& [node, value] : best) values.push_back(value);
    const double healthy = median(values);
    const double error = standard_error(noise, 1, values.size());
    const double limit = std::max(least_effect, far_off(values.size()) * error);
    std::vector<double> others;
    for (const double value : values) {
        if (1 - value / healthy < limit) others.push_back(value / healthy);
    }
    const double least = std::max(limit, unusual_effect(others));
    std::vector<SlowPeer> slow;
    for (const auto& [node, value] : best) {
        const double effect = 1 - value / healthy;
        if (effect >= least) slow.push_back(slow_peer(node, effect, error));
    }
    return slow;
}

std::vector<SlowPeer> slow_ports(const std::vector<Evidence::PairRail>& pair_rails,
                                 std::uint32_t node, double noise) {
    const auto is_own = [node](const Pair& pair) {
        return pair.first == node || pair.second == node;
    };
    Measured others;
    for (const auto& [pair, rail, bandwidth] : pair_rails) {
        if (!is_own(pair)) others[rail].push_back(bandwidth);
    }
    std::vector<Evidence::Rail> own;
    for (const auto& [pair, rail, bandwidth] : pair_rails) {
        if (!is_own(pair)) continue;
        if (others.empty()) {
            own.push_back({rail, bandwidth});
        } else if (const auto found = others.find(rail); found != others.end()) {
            own.push_back({rail, bandwidth / median(found->second)});
        }
    }
    return slow_rails(own, noise);
}

}  // namespace distgpu::scaling
