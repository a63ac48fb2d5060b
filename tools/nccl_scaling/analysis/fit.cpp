#include "analysis/fit.h"

#include "analysis/statistics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace distgpu::scaling {

double effect_of(double relative) {
    return -std::log(relative);
}

double standard_error(double sigma, std::size_t count, std::size_t others) {
    const auto inverse = [](std::size_t n) { return n == 0 ? 1.0 : 1.0 / static_cast<double>(n); };
    return error_of_median * sigma * std::sqrt(inverse(count) + inverse(others));
}

double bound(std::size_t suspects) {
    return std::sqrt(2 *
                     std::log(10'000 * static_cast<double>(std::max<std::size_t>(suspects, 1))));
}

namespace {

using Kind = Limiter::Kind;
using Values = std::vector<double>;
using Matches = std::vector<Evidence::Match>;

class Attempt : public Fit {
  public:
    // `first`: the healthy rate with which it begins. What is found sharpens the healthy rate and
    // sigma, and these what is found.
    Attempt(const Matches& matches, const std::vector<Suspect>& suspects, Values rates,
            double first)
        : matches_(matches), suspects_(suspects) {
        healthy = first;
        relative = std::move(rates);
        for (double& rate : relative) rate /= first;
        explain();
        for (int round = 0; round < 5; ++round) {
            sharpen();
            explain();
        }
    }

    // Of what stays unexplained, in such units, and of the faults.
    double cost(double unit) const {
        double sum = static_cast<double>(faults.size()) * penalty();
        for (std::size_t i = 0; i < relative.size(); ++i) sum += off(i, expected[i], unit);
        return sum;
    }

  private:
    // What a fault has to explain, in standard deviations of single matches.
    double penalty() const { return 6 + 2 * std::log(static_cast<double>(suspects_.size())); }

    // A residual counts no more than four standard deviations: matches without a pattern must not
    // move the healthy rate. What a fault slows is less even than the rest: a link that drops
    // packets has a tenth of the rate now and a sixth then, where the others differ by nothing.
    double off(std::size_t match, double level, double unit) const {
        constexpr double uneven = 0.15;  // of the fault's effect
        const double own = std::max(unit, uneven * effect_of(level));
        return std::min(std::abs(effect_of(relative[match] / level)) / own, 4.0);
    }

    void sharpen() {
        Values free;
        for (std::size_t i = 0; i < relative.size(); ++i) {
            if (is_free(i)) free.push_back(relative[i]);
        }
        const double middle = free.empty() ? 1 : median(std::move(free));
        healthy *= middle;
        Values above;  // what is not explained yet makes a match slower, not faster
        for (std::size_t i = 0; i < relative.size(); ++i) {
            relative[i] /= middle;
            const double effect = effect_of(relative[i] / expected[i]);
            if (effect <= 0) above.push_back(-effect);
        }
        // Of few matches it is not known well, and rather too large than too small.
        const double caution = 1 + 1.5 / std::sqrt(static_cast<double>(above.size() + 1));
        const double spread = above.empty() ? 0 : robust_sigma(std::move(above));
        sigma = std::max(0.003, caution * spread);
    }

    // The suspect that explains most first, until none explains enough.
    void explain() {
        expected.assign(relative.size(), 1);
        faults.clear();
        free_ = relative.size();
        while (add_faults()) continue;
    }

    bool add_faults() {
        std::vector<std::pair<double, std::size_t>> promising;
        for (std::size_t i = 0; i < suspects_.size(); ++i) {
            if (const auto fault = fault_of(i)) promising.emplace_back(-gain(*fault), i);
        }
        std::ranges::sort(promising);
        const std::size_t before = faults.size();
        for (const auto& [unused, index] : promising) {
            const auto fault = fault_of(index);
            if (!fault || gain(*fault) < penalty()) continue;
            for (const auto match : suspects_[index].matches) {
                if (is_free(match)) --free_;
                expected[match] = std::min(expected[match], fault->level);
            }
            faults.push_back(*fault);
        }
        return faults.size() > before;
    }

    // By those of its matches that no other fault explains.
    std::optional<Fault> fault_of(std::size_t index) const {
        const auto& suspect = suspects_[index];
        Values rates;
        Values errors;
        std::map<Pair, Values> pairs;
        for (const auto match : suspect.matches) {
            if (!is_free(match)) continue;
            rates.push_back(relative[match]);
            errors.push_back(matches_[match].error);
            pairs[matches_[match].pair].push_back(relative[match]);
        }
        // Without a match beside them nothing says that they are slow.
        if (pairs.size() < 2 || rates.size() == free_) return std::nullopt;
        const double level = median(rates);
        const double error = standard_error(std::max(sigma, median(std::move(errors))),
                                            rates.size(), free_ - rates.size());
        const double effect = effect_of(level);
        if (effect < std::max(least_effect, bound(suspects_.size()) * error)) return std::nullopt;
        // Nearly all of its matches have to be low, since a median is so with half of them already,
        // and nearly all of its pairs: five of seven may collide.
        Values medians;
        for (auto& [pair, values] : pairs) medians.push_back(median(std::move(values)));
        const double nearly_all = suspect.limiter.kind == Kind::node ? 0.7 : 0.85;
        const double low = (1 + level) / 2;
        if (percentile_of(std::move(rates), nearly_all) >= low ||
            percentile_of(std::move(medians), 0.8) >= low) {
            return std::nullopt;
        }
        return Fault{index, level, effect / error};
    }

    // By how much less its matches are off with it.
    double gain(const Fault& fault) const {
        double sum = 0;
        for (const auto match : suspects_[fault.suspect].matches) {
            const double before = expected[match];
            sum += off(match, before, sigma) - off(match, std::min(before, fault.level), sigma);
        }
        return sum;
    }

    const Matches& matches_;
    const std::vector<Suspect>& suspects_;
    std::size_t free_ = 0;  // matches that no fault explains
};

// The healthy rate is not the median of all matches, as most of them may be slow: several are
// tried, and the one whose faults explain the matches best is taken, with the least sigma of all.
Attempt best_fit(const Matches& matches, const std::vector<Suspect>& suspects,
                 const Values& rates) {
    Values sorted = rates;
    std::ranges::sort(sorted);
    std::vector<Attempt> fits;
    double sigma = 1;
    for (const double share : {0.5, 0.7, 0.85, 0.95, 0.99}) {
        fits.emplace_back(matches, suspects, rates, percentile(sorted, share));
        sigma = std::min(sigma, fits.back().sigma);
    }
    return *std::ranges::min_element(fits, {},
                                     [sigma](const Attempt& fit) { return fit.cost(sigma); });
}

// How the rate of the whole cluster changed through the run: a line through the levels of its first
// and its last third (Tukey's resistant line). A level is that of the upper part of the matches,
// which an intermittent node of a small cluster does not move. By match, 1 in the middle; empty: it
// did not change, or that is not known.
Values drift_of(const Matches& matches, const Fit& fit) {
    Values first;
    Values last;
    const double rounds = matches.back().round + 1.0;
    for (std::size_t i = 0; i < matches.size(); ++i) {
        const double residual = fit.relative[i] / fit.expected[i];
        if (3 * matches[i].round < rounds) first.push_back(residual);
        if (3 * (matches[i].round + 1) > 2 * rounds) last.push_back(residual);
    }
    if (std::min(first.size(), last.size()) < 12) return {};
    const double before = percentile_of(std::move(first), 0.7);
    const double after = percentile_of(std::move(last), 0.7);
    // Of the whole run: 2 slope. No line leads from one level to a tenth or ten times it: it would
    // come below 0.
    const double slope = std::clamp(1.5 * (after - before) / (after + before), -0.75, 0.75);
    if (std::abs(slope) < least_effect / 2) return {};
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
    if (rates.empty()) {  // nothing is known of the noise
        Fit none;
        none.healthy = 1;
        none.sigma = 0;
        return none;
    }
    Fit fit = best_fit(matches, suspects, rates);
    const Values drift = drift_of(matches, fit);
    if (drift.empty()) return fit;
    std::transform(rates.begin(), rates.end(), drift.begin(), rates.begin(), std::divides<>());
    return best_fit(matches, suspects, rates);
}

}  // namespace distgpu::scaling
