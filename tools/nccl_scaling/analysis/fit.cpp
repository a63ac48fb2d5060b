#include "analysis/fit.h"

#include "analysis/statistics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace distgpu::scaling {

double log_slowdown(double relative_rate) {
    return -std::log(relative_rate);
}

double standard_error(double sigma, std::size_t count, std::size_t other_count) {
    const auto inverse = [](std::size_t n) { return n == 0 ? 1.0 : 1.0 / static_cast<double>(n); };
    return median_error_factor * sigma * std::sqrt(inverse(count) + inverse(other_count));
}

double critical_z(std::size_t suspects) {
    return std::sqrt(2 *
                     std::log(10'000 * static_cast<double>(std::max<std::size_t>(suspects, 1))));
}

namespace {

using Kind = Limiter::Kind;
using Values = std::vector<double>;
using Matches = std::vector<Evidence::Match>;

// A fit that starts from one estimate of the healthy rate.
class TrialFit : public Fit {
  public:
    // Alternates between finding faults and estimating the healthy rate and sigma from the matches
    // that no fault slows.
    TrialFit(const Matches& matches, const std::vector<Suspect>& suspects, Values rates,
             double initial_rate)
        : matches_(matches), suspects_(suspects) {
        healthy_rate = initial_rate;
        relative_rates = std::move(rates);
        for (double& rate : relative_rates) rate /= initial_rate;
        find_faults();
        for (int round = 0; round < 5; ++round) {
            estimate_rate_and_sigma();
            find_faults();
        }
    }

    // Cost of the residuals, in units of `scale`, plus that of the faults.
    double cost(double scale) const {
        double sum = static_cast<double>(faults.size()) * penalty();
        for (std::size_t i = 0; i < relative_rates.size(); ++i) {
            sum += capped_residual(i, expected_rates[i], scale);
        }
        return sum;
    }

  private:
    // Cost of one fault, which must reduce the sum of the residuals by more than that.
    double penalty() const { return 6 + 2 * std::log(static_cast<double>(suspects_.size())); }

    // A standardized residual, at most 4 so that matches without a pattern do not move the healthy
    // rate. The scale grows with the fault, because a faulty link varies more: one that drops
    // packets may have a tenth of the rate at one time and a sixth at another.
    double capped_residual(std::size_t match, double level, double scale) const {
        constexpr double relative_scale = 0.15;  // of the fault's log slowdown
        const double own_scale = std::max(scale, relative_scale * log_slowdown(level));
        return std::min(std::abs(log_slowdown(relative_rates[match] / level)) / own_scale, 4.0);
    }

    void estimate_rate_and_sigma() {
        Values unaffected;
        for (std::size_t i = 0; i < relative_rates.size(); ++i) {
            if (is_unaffected(i)) unaffected.push_back(relative_rates[i]);
        }
        const double middle = unaffected.empty() ? 1 : median(std::move(unaffected));
        healthy_rate *= middle;
        // Only the fast side, because faults that are not found yet slow matches.
        Values above;
        for (std::size_t i = 0; i < relative_rates.size(); ++i) {
            relative_rates[i] /= middle;
            const double slowdown = log_slowdown(relative_rates[i] / expected_rates[i]);
            if (slowdown <= 0) above.push_back(-slowdown);
        }
        // With few matches the estimate is uncertain, and too large is safer than too small.
        const double inflation = 1 + 1.5 / std::sqrt(static_cast<double>(above.size() + 1));
        const double spread = above.empty() ? 0 : robust_sigma(std::move(above));
        sigma = std::max(0.003, inflation * spread);
    }

    // Adds the suspect with the largest gain first, until none gains enough.
    void find_faults() {
        expected_rates.assign(relative_rates.size(), 1);
        faults.clear();
        unaffected_count_ = relative_rates.size();
        while (add_faults()) continue;
    }

    bool add_faults() {
        std::vector<std::pair<double, std::size_t>> promising;
        for (std::size_t i = 0; i < suspects_.size(); ++i) {
            if (const auto fault = test_suspect(i)) promising.emplace_back(-gain(*fault), i);
        }
        std::ranges::sort(promising);
        const std::size_t before = faults.size();
        for (const auto& [unused, index] : promising) {
            const auto fault = test_suspect(index);
            if (!fault || gain(*fault) < penalty()) continue;
            for (const auto match : suspects_[index].matches) {
                if (is_unaffected(match)) --unaffected_count_;
                expected_rates[match] = std::min(expected_rates[match], fault->level);
            }
            faults.push_back(*fault);
        }
        return faults.size() > before;
    }

    // Uses the suspect's matches that no other fault slows; nullopt if they are not slow enough.
    std::optional<Fault> test_suspect(std::size_t index) const {
        const auto& suspect = suspects_[index];
        Values rates;
        Values errors;
        std::map<Pair, Values> pairs;
        for (const auto match : suspect.matches) {
            if (!is_unaffected(match)) continue;
            rates.push_back(relative_rates[match]);
            errors.push_back(matches_[match].relative_error);
            pairs[matches_[match].pair].push_back(relative_rates[match]);
        }
        // Without any other match there is nothing to compare with.
        if (pairs.size() < 2 || rates.size() == unaffected_count_) return std::nullopt;
        const double level = median(rates);
        const double error = standard_error(std::max(sigma, median(std::move(errors))),
                                            rates.size(), unaffected_count_ - rates.size());
        const double slowdown = log_slowdown(level);
        if (slowdown < std::max(min_log_slowdown, critical_z(suspects_.size()) * error)) {
            return std::nullopt;
        }
        // A low median only needs half of the matches to be low. Nearly all of the matches and of
        // the pairs must be: five of a node's seven pairs may collide by chance.
        Values medians;
        for (auto& [pair, values] : pairs) medians.push_back(median(std::move(values)));
        const double nearly_all = suspect.limiter.kind == Kind::node ? 0.7 : 0.85;
        const double low = (1 + level) / 2;
        if (quantile(std::move(rates), nearly_all) >= low ||
            quantile(std::move(medians), 0.8) >= low) {
            return std::nullopt;
        }
        return Fault{index, level, slowdown / error};
    }

    // By how much the fault reduces the residuals of its matches.
    double gain(const Fault& fault) const {
        double sum = 0;
        for (const auto match : suspects_[fault.suspect].matches) {
            const double before = expected_rates[match];
            sum += capped_residual(match, before, sigma) -
                   capped_residual(match, std::min(before, fault.level), sigma);
        }
        return sum;
    }

    const Matches& matches_;
    const std::vector<Suspect>& suspects_;
    std::size_t unaffected_count_ = 0;  // number of matches that no fault slows
};

// The healthy rate is not the median of all matches, because most of them may be slow. Tries
// several quantiles, and returns the fit with the lowest cost, all measured with the smallest
// sigma.
TrialFit best_fit(const Matches& matches, const std::vector<Suspect>& suspects,
                  const Values& rates) {
    Values sorted = rates;
    std::ranges::sort(sorted);
    std::vector<TrialFit> fits;
    double sigma = 1;
    for (const double p : {0.5, 0.7, 0.85, 0.95, 0.99}) {
        fits.emplace_back(matches, suspects, rates, quantile_of_sorted(sorted, p));
        sigma = std::min(sigma, fits.back().sigma);
    }
    return *std::ranges::min_element(fits, {},
                                     [sigma](const TrialFit& fit) { return fit.cost(sigma); });
}

// How the rate of the whole cluster changed during the run: a line through the levels of the first
// and the last third (Tukey's resistant line). The level is an upper quantile, which an
// intermittent node of a small cluster does not move. By match, 1 in the middle of the run; empty
// if there was no change, or too few matches.
Values drift_of(const Matches& matches, const Fit& fit) {
    Values first;
    Values last;
    const double rounds = matches.back().round + 1.0;
    for (std::size_t i = 0; i < matches.size(); ++i) {
        const double residual = fit.relative_rates[i] / fit.expected_rates[i];
        if (3 * matches[i].round < rounds) first.push_back(residual);
        if (3 * (matches[i].round + 1) > 2 * rounds) last.push_back(residual);
    }
    if (std::min(first.size(), last.size()) < 12) return {};
    const double before = quantile(std::move(first), 0.7);
    const double after = quantile(std::move(last), 0.7);
    // The change over the whole run is 2 slope. The limit keeps the line above 0 if the rate
    // changes by a factor of ten.
    const double slope = std::clamp(1.5 * (after - before) / (after + before), -0.75, 0.75);
    if (std::abs(slope) < min_log_slowdown / 2) return {};
    Values drift(matches.size());
    for (std::size_t i = 0; i < matches.size(); ++i) {
        drift[i] = 1 + slope * (2 * (matches[i].round + 0.5) / rounds - 1);
    }
    return drift;
}

}  // namespace

Fit fit_matches(const Matches& matches, const std::vector<Suspect>& suspects) {
    Values rates;
    for (const auto& match : matches) rates.push_back(match.bandwidth);
    if (rates.empty()) {  // the noise is unknown
        Fit empty;
        empty.healthy_rate = 1;
        empty.sigma = 0;
        return empty;
    }
    Fit fit = best_fit(matches, suspects, rates);
    const Values drift = drift_of(matches, fit);
    if (drift.empty()) return fit;
    std::transform(rates.begin(), rates.end(), drift.begin(), rates.begin(), std::divides<>());
    return best_fit(matches, suspects, rates);
}

}  // namespace distgpu::scaling
