#include "analysis/match_fit.h"

#include "analysis/drift.h"
#include "analysis/statistics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <optional>

namespace distgpu::scaling {
namespace {

using Matches = std::vector<Evidence::Match>;
using Models = std::vector<FaultModel>;

constexpr double least_noise = 0.003;
// A residual counts no more than so many standard deviations: matches without a pattern must not
// move the healthy rate.
constexpr double most_deviations = 4;
// Of a fault's matches so many must be low, since a median is low with half of them already.
constexpr double nearly_all_of_node = 0.7;
constexpr double nearly_all_of_switch = 0.85;

double penalty(std::size_t candidates) {
    return 6 + 2 * std::log(static_cast<double>(candidates));
}

// From the differences between successive matches of the same pair. Of few: 1, anything may be.
double noise_of_repeated(const Matches& matches, const std::vector<double>& rates) {
    std::map<Pair, double> last;
    std::vector<double> differences;
    for (std::size_t i = 0; i < matches.size(); ++i) {
        const auto [place, is_new] = last.try_emplace(matches[i].pair, rates[i]);
        if (is_new) continue;
        differences.push_back(std::abs(rates[i] / place->second - 1));
        place->second = rates[i];
    }
    constexpr std::size_t enough = 12;
    constexpr double of_differences = 1.4142;
    return differences.size() < enough ? 1 : deviation_of(std::move(differences)) / of_differences;
}

// How far a match is from what is expected of it, in standard deviations.
double off(double relative, double expected, double noise) {
    return std::min(std::abs(relative - expected) / noise, most_deviations);
}

class Fitter {
  public:
    // `repeated`: noise_of_repeated().
    Fitter(const Matches& matches, const std::vector<double>& rates, double repeated,
           const Models& models, double healthy)
        : matches_(matches), models_(models), rates_(rates), repeated_(repeated) {
        fit_.healthy = healthy;
        fit_.noise = 0.05;
    }

    // What is found sharpens the healthy rate and the noise, and these what is found.
    MatchFit fit() && {
        constexpr int rounds = 6;
        for (int round = 0; round < rounds; ++round) {
            if (round > 0) sharpen();
            explain();
        }
        return std::move(fit_);
    }

  private:
    void sharpen() {
        std::vector<double> free;
        for (std::size_t i = 0; i < rates_.size(); ++i) {
            if (is_free(i)) free.push_back(rates_[i]);
        }
        if (!free.empty()) fit_.healthy = median(std::move(free));
        // What is not explained yet makes a match slower, not faster.
        std::vector<double> above;
        for (std::size_t i = 0; i < rates_.size(); ++i) {
            const double residual = rates_[i] / fit_.healthy - fit_.expected[i];
            if (residual >= 0) above.push_back(residual);
        }
        // Of few matches it is not known well, and rather too large than too small.
        const double caution = 1 + 1.5 / std::sqrt(static_cast<double>(above.size() + 1));
        const double noise = above.empty() ? 0 : deviation_of(std::move(above));
        fit_.noise = std::max(least_noise, caution * std::min(repeated_, noise));
    }

    // The fault that explains most first, until none explains enough.
    void explain() {
        fit_.relative.resize(rates_.size());
        std::transform(rates_.begin(), rates_.end(), fit_.relative.begin(),
                       [&](double rate) { return rate / fit_.healthy; });
        fit_.expected.assign(rates_.size(), 1);
        fit_.faults.clear();
        free_ = rates_.size();
        while (add_faults()) continue;
    }

    bool add_faults() {
        std::vector<std::pair<double, std::size_t>> promising;
        for (std::size_t i = 0; i < models_.size(); ++i) {
            if (const auto fault = fault_of(i)) promising.emplace_back(-gain(*fault), i);
        }
        std::sort(promising.begin(), promising.end());
        bool added = false;
        for (const auto& [unused, index] : promising) {
            const auto fault = fault_of(index);
            if (!fault || gain(*fault) < penalty(models_.size())) continue;
            for (const auto match : models_[index].matches) {
                if (is_free(match)) --free_;
                fit_.expected[match] = std::min(fit_.expected[match], fault->level);
            }
            fit_.faults.push_back(*fault);
            added = true;
        }
        return added;
    }

    // Judged by those of its matches that no other fault explains.
    std::optional<FittedFault> fault_of(std::size_t index) const {
        const auto& model = models_[index];
        std::vector<double> rates;
        for (const auto match : model.matches) {
            if (is_free(match)) rates.push_back(fit_.relative[match]);
        }
        // Without a match beside them nothing says that they are slow.
        if (rates.empty() || rates.size() == free_) return std::nullopt;
        const double level = median(rates);
        const double error = standard_error(fit_.noise, rates.size(), free_ - rates.size());
        const double effect = 1 - level;
        if (effect < std::max(least_effect, far_off(models_.size()) * error)) return std::nullopt;
        const auto low = std::count_if(rates.begin(), rates.end(),
                                       [&](double rate) { return rate < 1 - effect / 2; });
        const double enough =
            model.limiter.kind == Limiter::Kind::node ? nearly_all_of_node : nearly_all_of_switch;
        if (static_cast<double>(low) < enough * static_cast<double>(rates.size())) {
            return std::nullopt;
        }
        if (!most_pairs_are_low(model, 1 - effect / 2)) return std::nullopt;
        return FittedFault{index, level, effect / error};
    }

    bool most_pairs_are_low(const FaultModel& model, double limit) const {
        std::map<Pair, std::vector<double>> pairs;
        for (const auto match : model.matches) {
            if (is_free(match)) pairs[matches_[match].pair].push_back(fit_.relative[match]);
        }
        const auto low = std::count_if(pairs.begin(), pairs.end(), [&](const auto& pair) {
            return median(pair.second) < limit;
        });
        return pairs.size() > 1 &&
               static_cast<double>(low) >= 0.75 * static_cast<double>(pairs.size());
    }

    // By how much less its matches are off with it.
    double gain(const FittedFault& fault) const {
        double sum = 0;
        for (const auto match : models_[fault.model].matches) {
            const double before = fit_.expected[match];
            const double rate = fit_.relative[match];
            sum += off(rate, before, fit_.noise) -
                   off(rate, std::min(before, fault.level), fit_.noise);
        }
        return sum;
    }

    bool is_free(std::size_t match) const { return fit_.expected[match] == 1; }

    const Matches& matches_;
    const Models& models_;
    const std::vector<double>& rates_;
    const double repeated_;
    MatchFit fit_;
    std::size_t free_ = 0;  // matches that no fault explains
};

// Seen in all fits with the same noise, that of the best.
double cost_of(const MatchFit& fit, double noise, std::size_t candidates) {
    double sum = static_cast<double>(fit.faults.size()) * penalty(candidates);
    for (std::size_t i = 0; i < fit.relative.size(); ++i) {
        sum += off(fit.relative[i], fit.expected[i], noise);
    }
    return sum;
}

MatchFit best_fit(const Matches& matches, const std::vector<double>& rates, const Models& models) {
    auto sorted = rates;
    std::sort(sorted.begin(), sorted.end());
    const double repeated = noise_of_repeated(matches, rates);
    std::vector<MatchFit> fits;
    for (const double share : {0.5, 0.7, 0.85, 0.95, 0.99}) {
        fits.push_back(Fitter(matches, rates, repeated, models, percentile(sorted, share)).fit());
    }
    double noise = fits.front().noise;
    for (const auto& fit : fits) noise = std::min(noise, fit.noise);
    for (auto& fit : fits) fit.cost = cost_of(fit, noise, models.size());
    return *std::min_element(fits.begin(), fits.end(),
                             [](const auto& a, const auto& b) { return a.cost < b.cost; });
}

}  // namespace

double standard_error(double noise, std::size_t count, std::size_t others) {
    constexpr double of_medians = 1.2533;  // sqrt(pi / 2)
    const auto inverse = [](std::size_t n) { return n == 0 ? 1.0 : 1.0 / static_cast<double>(n); };
    return of_medians * noise * std::sqrt(inverse(count) + inverse(others));
}

double far_off(std::size_t candidates) {
    return std::sqrt(2 *
                     std::log(3000 * static_cast<double>(std::max<std::size_t>(candidates, 1))));
}

MatchFit fit_matches(const Matches& matches, const Models& models) {
    if (matches.empty()) return {};
    std::vector<double> rates(matches.size());
    std::transform(matches.begin(), matches.end(), rates.begin(),
                   [](const auto& match) { return match.bandwidth; });
    auto fit = best_fit(matches, rates, models);
    const auto drift = drift_of(matches, fit);
    if (drift.empty()) return fit;
    std::transform(rates.begin(), rates.end(), drift.begin(), rates.begin(), std::divides<>());
    return best_fit(matches, rates, models);
}

}  // namespace distgpu::scaling
