#include "analysis/intermittent.h"

#include "analysis/statistics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace distgpu::scaling {
namespace {

using Matches = std::vector<Evidence::Match>;

struct Count {
    double played = 0;
    double low = 0;

    void add(bool is_low) {
        ++played;
        if (is_low) ++low;
    }
    // Never 0 or 1: what was not seen in a few matches may still happen.
    double share() const { return (low + 0.5) / (played + 1); }
    // Logarithm of the likelihood.
    double likelihood(double share) const {
        return low * std::log(share) + (played - low) * std::log(1 - share);
    }
};

using Pairs = std::map<Pair, Count>;

class Search {
  public:
    Search(const Matches& matches, const std::vector<FaultModel>& models, const MatchFit& fit)
        : matches_(matches),
          models_(models),
          fit_(fit),
          low_(matches.size()),
          open_(matches.size()) {
        for (std::size_t i = 0; i < matches.size(); ++i) {
            open_[i] = fit.expected[i] == 1;
            low_[i] = is_low(i, 4);
        }
    }

    LowMatches search() && {
        LowMatches result;
        while (const auto found = best()) {
            result.faults.push_back(*found);
            for (const auto match : models_[found->model].matches) {
                if (low_[match]) open_[match] = false;
            }
        }
        for (std::uint32_t i = 0; i < matches_.size(); ++i) {
            // A pattern speaks for itself; single matches have to be further off.
            if (open_[i] && is_low(i, 6)) result.unexplained.push_back(i);
        }
        return result;
    }

  private:
    bool is_low(std::size_t match, double deviations) const {
        const double limit = 1 - std::max(0.12, deviations * fit_.noise);
        return fit_.relative[match] < limit * fit_.expected[match];
    }

    Pairs pairs_of(const std::vector<std::uint32_t>& chosen) const {
        Pairs pairs;
        for (const auto match : chosen) {
            if (open_[match]) pairs[matches_[match].pair].add(low_[match]);
        }
        return pairs;
    }

    static Count total(const Pairs& pairs) {
        Count sum;
        for (const auto& [pair, count] : pairs) {
            sum.played += count.played;
            sum.low += count.low;
        }
        return sum;
    }

    // Pairs that were low at all.
    static Count ever(const Pairs& pairs) {
        Count sum;
        for (const auto& [pair, count] : pairs) sum.add(2 * count.low > count.played);
        return sum;
    }

    std::optional<Intermittent> best() const {
        std::vector<std::uint32_t> everything(matches_.size());
        for (std::uint32_t i = 0; i < everything.size(); ++i) everything[i] = i;
        const auto all = pairs_of(everything);
        const auto all_matches = total(all);
        const auto all_pairs = ever(all);
        if (all_matches.low == 0) return std::nullopt;
        std::optional<Intermittent> found;
        double most = 11 + std::log(static_cast<double>(models_.size()));
        for (std::size_t i = 0; i < models_.size(); ++i) {
            const auto own = pairs_of(models_[i].matches);
            const auto matches = total(own);
            const auto pairs = ever(own);
            const Count others{all_matches.played - matches.played, all_matches.low - matches.low};
            const Count other_pairs{all_pairs.played - pairs.played, all_pairs.low - pairs.low};
            // A single pair beside its own may as well be the one that is lucky.
            if (other_pairs.played < 2 || matches.low / matches.played < 0.2 ||
                matches.share() < others.share() + 0.2) {
                continue;
            }
            double gain = matches.likelihood(matches.share());
            for (const auto& [pair, count] : own) {
                double usual = count.likelihood(others.share());
                if (count.low == count.played)
                    usual = std::max(usual, std::log(other_pairs.share()));
                if (count.low == 0) usual = std::max(usual, std::log(1 - other_pairs.share()));
                gain -= usual;
            }
            if (gain <= most) continue;
            most = gain;
            found = Intermittent{i, matches.low / matches.played, level_of(models_[i].matches)};
        }
        return found;
    }

    double level_of(const std::vector<std::uint32_t>& chosen) const {
        std::vector<double> levels;
        for (const auto match : chosen) {
            if (open_[match] && low_[match]) levels.push_back(fit_.relative[match]);
        }
        return median(std::move(levels));
    }

    const Matches& matches_;
    const std::vector<FaultModel>& models_;
    const MatchFit& fit_;
    std::vector<bool> low_;
    std::vector<bool> open_;
};

}  // namespace

LowMatches low_matches(const Matches& matches, const std::vector<FaultModel>& models,
                       const MatchFit& fit) {
    return Search(matches, models, fit).search();
}

}  // namespace distgpu::scaling
