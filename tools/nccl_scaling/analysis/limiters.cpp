#include "analysis/limiters.h"

#include "analysis/fit.h"
#include "analysis/statistics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

namespace distgpu::scaling {
namespace {

using Kind = Limiter::Kind;
using Values = std::vector<double>;
using Matches = std::vector<Evidence::Match>;

// `one`: a suspect or a finding.
constexpr auto kind_of = [](const auto& one) { return one.limiter.kind; };

// The log slowdown above which a part is slower than by the usual differences between its healthy
// peers. It is computed from the spread of the healthy slowdowns, less the part that is noise. As a
// few values give a poor estimate, three more with a typical deviation are assumed. The factor is
// chosen such that about 10 of 1,000 simulated healthy clusters, whose nodes differ by 4 %,
// get a limiter. Half the rate of the peers is never a usual difference, even if some links burst.
// `noise_variance`: sum of the variances of the slowdowns that is due to noise.
double outlier_threshold(const Values& slowdowns, double noise_variance) {
    constexpr double typical_deviation = 0.015;
    constexpr double assumed_count = 3;
    if (slowdowns.empty()) return 0;
    const double middle = median(slowdowns);
    double squares = -noise_variance;
    for (const double slowdown : slowdowns) squares += (slowdown - middle) * (slowdown - middle);
    squares = std::max(squares, 0.0) + assumed_count * typical_deviation * typical_deviation;
    const auto count = static_cast<double>(slowdowns.size());
    return std::min((7 + 6 / count) * std::sqrt(squares / (count - 1 + assumed_count)),
                    log_slowdown(0.5));
}

// How many of some matches are low.
struct Count {
    double played = 0;
    double low = 0;

    void add(const Count& more) {
        played += more.played;
        low += more.low;
    }
    void add_match(bool is_low) { add(Count{1, is_low ? 1.0 : 0.0}); }
    // Never 0 or 1, because a few matches cannot show that something never happens.
    double smoothed_share() const { return (low + 0.5) / (played + 1); }
    // Binomial, for the probability `share` that a match is low.
    double log_likelihood(double share) const {
        return low * std::log(share) + (played - low) * std::log(1 - share);
    }
};

// A rail or node that is slower than its peers.
struct SlowPeer {
    std::uint32_t number = 0;
    double relative_rate = 0;  // relative to its healthy peers
    double z_score = 0;
};

// The values that are below `healthy` by a log slowdown of at least `min_slowdown`, and by more
// than chance explains. `error`: standard error of a log slowdown.
std::vector<SlowPeer> slower_than(double healthy, const std::map<std::uint32_t, double>& values,
                                  double error, double min_slowdown = min_log_slowdown) {
    std::vector<SlowPeer> slow;
    for (const auto& [number, value] : values) {
        const double slowdown = log_slowdown(value / healthy);
        if (slowdown < std::max(min_slowdown, critical_z(values.size()) * error)) continue;
        slow.push_back({number, value / healthy, error > 0 ? slowdown / error : 0});
    }
    return slow;
}

using Rates = std::map<std::uint32_t, Values>;  // by rail or node

// Compares with the faster half of the rails, because a node often has only two, whose spread says
// nothing.
std::vector<SlowPeer> slow_rails(const Rates& rails, double sigma) {
    if (rails.size() < 2) return {};
    std::map<std::uint32_t, double> medians;
    Values sorted;
    Values residuals;
    std::size_t fewest = rails.begin()->second.size();
    for (const auto& [rail, rates] : rails) {
        const double middle = median(rates);
        sorted.push_back(medians[rail] = middle);
        fewest = std::min(fewest, rates.size());
        for (const double rate : rates) residuals.push_back(std::abs(log_slowdown(rate / middle)));
    }
    if (fewest >= 8) sigma = robust_sigma(std::move(residuals));  // enough values for an estimate
    std::ranges::sort(sorted);
    return slower_than(sorted[sorted.size() / 2], medians, standard_error(sigma, fewest, fewest));
}

// Uses each node's best measurement, because the others may contain temporary disturbances.
std::vector<SlowPeer> slow_nodes_alone(const Rates& alone, double sigma) {
    if (alone.size() < 3) return {};
    std::map<std::uint32_t, double> best;
    Values values;
    for (const auto& [node, rates] : alone) {
        values.push_back(best[node] = *std::ranges::max_element(rates));
    }
    const double healthy = median(values);
    const double error = standard_error(sigma, 1, values.size());
    const double limit = std::max(min_log_slowdown, critical_z(values.size()) * error);
    for (double& value : values) value = log_slowdown(value / healthy);
    std::erase_if(values, [&](double slowdown) { return slowdown >= limit; });
    return slower_than(healthy, best, error, std::max(limit, outlier_threshold(values, 0)));
}

// The rails of one node that are slower than its other rails. Each is first divided by the usual
// rate of that rail between other nodes, if that was measured.
std::vector<SlowPeer> slow_ports(const std::vector<Evidence::PairRail>& pair_rails,
                                 std::uint32_t node, double sigma) {
    Rates own;
    Rates others;
    for (const auto& [pair, rail, bandwidth] : pair_rails) {
        const bool is_own = pair.first == node || pair.second == node;
        (is_own ? own : others)[rail].push_back(bandwidth);
    }
    if (others.empty()) return slow_rails(own, sigma);
    std::erase_if(own, [&](const auto& rail) { return others.count(rail.first) == 0; });
    for (auto& [rail, rates] : own) {
        const double usual = median(others[rail]);
        for (double& rate : rates) rate /= usual;
    }
    return slow_rails(own, sigma);
}

// Combines the evidence of matches, rails and nodes alone.
class LimiterSearch {
  public:
    explicit LimiterSearch(const Evidence& evidence)
        : evidence_(evidence),
          matches_(evidence.matches),
          suspects_(suspects_of(evidence)),
          fit_(fit_matches(evidence.matches, suspects_)),
          nodes_(static_cast<std::size_t>(std::ranges::count(suspects_, Kind::node, kind_of))) {}

    LimiterAnalysis run() && {
        find_intermittent();
        result_.is_decidable = nodes_ >= 3;
        if (result_.is_decidable) {
            add_permanent();
            add_intermittent();
        }
        add_nodes_and_rails();
        rate_pairs();
        if (result_.is_decidable) add_paths();
        if (result_.is_decidable && result_.findings.empty()) find_doubts();
        std::ranges::sort(result_.findings, {}, sort_key);
        return std::move(result_);
    }

  private:
    static std::tuple<Kind, std::uint32_t, std::uint32_t> sort_key(const Finding& finding) {
        const auto& [kind, node, local_rank, is_intermittent] = finding.limiter;
        return {kind == Kind::node_rail ? Kind::node : kind, node, local_rank};
    }

    void add_finding(const Limiter& limiter, double relative_rate, double z_score) {
        result_.findings.push_back({limiter, relative_rate, z_score});
    }

    // Keeps the first doubt, which is the most serious one.
    void set_doubt(Doubt doubt) {
        if (result_.doubt.kind == Doubt::Kind::none) result_.doubt = std::move(doubt);
    }

    // The limit is a fraction of the rate, not a log slowdown, because noise makes single matches
    // far slower more often than far faster: with sigma at a quarter, no match is low.
    bool is_low(std::size_t match, double min_z, double sigma) const {
        const double limit = 1 - std::max(0.12, min_z * sigma);
        return fit_.relative_rates[match] < limit * fit_.expected_rates[match];
    }
    // Counts the statistical error of the match's own iterations as noise too.
    bool is_low(std::size_t match, double min_z) const {
        return is_low(match, min_z, std::max(fit_.sigma, matches_[match].relative_error));
    }

    // Finds suspects that are slow in only a part of their matches, from the low matches that no
    // permanent fault explains. Low matches that remain belong to no suspect.
    void find_intermittent() {
        for (std::size_t i = 0; i < matches_.size(); ++i) {
            is_unexplained_.push_back(fit_.is_unaffected(i));
            low_.push_back(is_low(i, 4));
        }
        while (const auto found = next_intermittent()) {
            intermittent_.push_back(*found);
            for (const auto match : suspects_[found->suspect].matches) {
                if (low_[match]) is_unexplained_[match] = false;
            }
        }
        // Single matches without a pattern need a larger deviation.
        for (std::uint32_t i = 0; i < matches_.size(); ++i) {
            if (!is_unexplained_[i] || !is_low(i, 6, fit_.sigma)) continue;
            (is_low(i, 6) ? unexplained_low_ : maybe_noise_).push_back(i);
        }
    }

    // Counts of the matches that are not explained yet.
    struct Tally {
        Count matches;
        // The same, but a pair that is always or never low counts as one match: it may have its own
        // network path.
        Count independent;
        std::size_t pairs = 0;
    };
    Tally tally_of(const std::vector<std::uint32_t>& chosen) const {
        std::map<Pair, Count> pairs;
        for (const auto match : chosen) {
            if (is_unexplained_[match]) pairs[matches_[match].pair].add_match(low_[match]);
        }
        Tally tally;
        tally.pairs = pairs.size();
        for (const auto& [pair, count] : pairs) {
            tally.matches.add(count);
            const bool mixed = count.low > 0 && count.low < count.played;
            tally.independent.add(mixed ? count : Count{1, count.low > 0 ? 1.0 : 0.0});
        }
        return tally;
    }

    // A likelihood-ratio test: the suspect's matches have their own share of low ones, against the
    // same share as all others.
    std::optional<Fault> next_intermittent() const {
        std::vector<std::uint32_t> all_matches(matches_.size());
        std::iota(all_matches.begin(), all_matches.end(), 0U);
        const Tally all = tally_of(all_matches);
        if (all.matches.low == 0) return std::nullopt;
        std::optional<Fault> found;
        double best_gain = 11 + std::log(static_cast<double>(suspects_.size()));
        for (std::size_t i = 0; i < suspects_.size(); ++i) {
            const auto [own, independent, pairs] = tally_of(suspects_[i].matches);
            const Count others{all.matches.played - own.played, all.matches.low - own.low};
            // A single other pair does not suffice for a comparison: it may be fast by luck.
            if (all.pairs < pairs + 2 || own.low < 0.2 * own.played ||
                own.smoothed_share() < others.smoothed_share() + 0.2) {
                continue;
            }
            const double gain = independent.log_likelihood(independent.smoothed_share()) -
                                independent.log_likelihood(others.smoothed_share());
            if (gain <= best_gain) continue;
            best_gain = gain;
            Values levels;
            for (const auto match : suspects_[i].matches) {
                if (is_unexplained_[match] && low_[match]) {
                    levels.push_back(fit_.relative_rates[match]);
                }
            }
            found = Fault{i, median(std::move(levels)), 0, own.low / own.played};
        }
        return found;
    }

    // True if the node's switch explains the same matches. Then neither is named.
    bool is_ambiguous(const Fault& fault) {
        const auto& suspect = suspects_[fault.suspect];
        if (suspect.is_alone_on_switch) {
            set_doubt({Doubt::Kind::alone_on_switch, {suspect.limiter.node}, fault.level});
        }
        return suspect.is_alone_on_switch;
    }

    void add_permanent() {
        std::vector<Fault> nodes;
        for (const auto& fault : fit_.faults) {
            if (is_ambiguous(fault)) continue;
            const auto& limiter = suspects_[fault.suspect].limiter;
            if (limiter.kind == Kind::node) {
                nodes.push_back(fault);
            } else {
                add_finding(limiter, fault.level, fault.z_score);
            }
        }
        const double threshold = node_threshold(nodes);
        std::erase_if(nodes,
                      [&](const auto& fault) { return log_slowdown(fault.level) < threshold; });
        if (have_common_cause(nodes)) {
            std::vector<std::uint32_t> numbers;
            numbers.reserve(nodes.size());
            for (const auto& fault : nodes) {
                numbers.push_back(suspects_[fault.suspect].limiter.node);
            }
            std::ranges::sort(numbers);
            return set_doubt({Doubt::Kind::common_cause, std::move(numbers), nodes.front().level});
        }
        for (const auto& fault : nodes) {
            add_finding(suspects_[fault.suspect].limiter, fault.level, fault.z_score);
        }
    }

    // outlier_threshold() of the nodes that are not in `slow`. An upper quantile of a healthy
    // node's matches shows its capability.
    double node_threshold(const std::vector<Fault>& slow) const {
        // Variance of the 90th percentile in units of sigma^2 / n: half of 2.9, because sigma tends
        // to be too large.
        constexpr double percentile_variance = 1.45;
        Values slowdowns;
        double noise_variance = 0;
        for (std::size_t i = 0; i < nodes_; ++i) {
            Values rates;
            for (const auto match : suspects_[i].matches) {
                if (fit_.is_unaffected(match)) rates.push_back(fit_.relative_rates[match]);
            }
            if (rates.empty() || std::ranges::count(slow, i, &Fault::suspect) > 0) continue;
            noise_variance +=
                percentile_variance * fit_.sigma * fit_.sigma / static_cast<double>(rates.size());
            slowdowns.push_back(log_slowdown(quantile(std::move(rates), 0.9)));
        }
        return outlier_threshold(slowdowns, noise_variance);
    }

    // A third of the nodes or more that are all equally slow may have different hardware, and so
    // may half of the nodes at any rates.
    bool have_common_cause(const std::vector<Fault>& nodes) const {
        const auto count = static_cast<double>(nodes.size());
        if (2 * nodes.size() >= nodes_) return true;
        if (count < std::max(3.0, 0.3 * static_cast<double>(nodes_))) return false;
        const auto [least, most] = std::ranges::minmax_element(nodes, {}, &Fault::level);
        return most->level - least->level < std::max(0.04, fit_.sigma);
    }

    void add_intermittent() {
        for (const auto& fault : intermittent_) {
            if (is_ambiguous(fault)) continue;
            auto limiter = suspects_[fault.suspect].limiter;
            // If only few of the matches across switches are low, the routes are the cause.
            if (limiter.kind == Kind::spine && fault.low_share < 0.5) {
                limiter = {.kind = Kind::paths};
            }
            limiter.is_intermittent = limiter.kind != Kind::spine && limiter.kind != Kind::paths;
            add_finding(limiter, fault.level, 0);
        }
    }

    // Adds nodes that are slow on their own and slow rails, and replaces nodes by their slow ports.
    // If a node was retested rail by rail, its slow rails are its slow ports. Any other slow rail
    // is a port of the one node that is as slow and has no other cause; it is slow on all nodes if
    // there is no slow node without a cause. Otherwise the port's node is unknown, and the nodes
    // stay named.
    void add_nodes_and_rails() {
        const auto alone = slow_nodes_alone(evidence_.nodes_alone, fit_.sigma);
        Ports ports;
        std::vector<Finding> without_cause;  // nodes that are slow in matches, but not on their own
        std::vector<std::uint32_t> named;
        for (const Finding& finding : result_.findings) {
            const auto node = finding.limiter.node;
            if (finding.limiter.kind != Kind::node) continue;
            named.push_back(node);
            if (std::ranges::count(alone, node, &SlowPeer::number) > 0) continue;
            const auto slow = slow_ports(evidence_.pair_rails, node, fit_.sigma);
            for (const auto& port : slow) ports[node].push_back(port.number);
            if (slow.empty()) without_cause.push_back(finding);
        }
        for (const auto& [number, relative_rate, z_score] : alone) {
            if (std::ranges::count(named, number) == 0) {
                add_finding({.node = number}, relative_rate, z_score);
            }
        }
        for (const auto& rail : slow_rails(evidence_.rails, fit_.sigma)) {
            assign_rail(rail, without_cause, ports);
        }
        for (const Finding& finding : std::exchange(result_.findings, {})) {
            const auto found = ports.find(finding.limiter.node);
            const bool has_ports = finding.limiter.kind == Kind::node && found != ports.end();
            if (!has_ports) {
                result_.findings.push_back(finding);
                continue;
            }
            for (const auto rail : found->second) {
                Finding& port = result_.findings.emplace_back(finding);
                port.limiter.kind = Kind::node_rail;
                port.limiter.local_rank = rail;
            }
        }
    }

    using Ports = std::map<std::uint32_t, std::vector<std::uint32_t>>;  // slow rails by node

    // Adds the slow rail to the ports of a node, or to the findings.
    void assign_rail(const SlowPeer& rail, const std::vector<Finding>& without_cause,
                     Ports& ports) {
        const bool explained = std::ranges::any_of(result_.findings, [&](const Finding& one) {
            const auto found = ports.find(one.limiter.node);  // a port that is at least as slow
            return one.limiter.kind == Kind::node && found != ports.end() &&
                   std::ranges::count(found->second, rail.number) > 0 &&
                   one.relative_rate < rail.relative_rate + min_log_slowdown;
        });
        if (explained) return;
        if (without_cause.empty() && result_.doubt.kind == Doubt::Kind::none) {
            return add_finding({.kind = Kind::rail, .local_rank = rail.number}, rail.relative_rate,
                               rail.z_score);
        }
        std::vector<std::uint32_t> owners;  // as slow as the rail
        for (const auto& finding : without_cause) {
            if (std::abs(finding.relative_rate - rail.relative_rate) < min_log_slowdown) {
                owners.push_back(finding.limiter.node);
            }
        }
        if (owners.size() == 1) ports[owners.front()].push_back(rail.number);
    }

    // A pair collides if three quarters of its matches are low and no suspect explains them.
    void rate_pairs() {
        struct Played {
            Values rates{};
            std::size_t low = 0;
            std::size_t maybe_noise = 0;
        };
        std::map<Pair, Played> pairs;
        for (std::size_t i = 0; i < matches_.size(); ++i) {
            pairs[matches_[i].pair].rates.push_back(fit_.relative_rates[i]);
        }
        for (const auto match : unexplained_low_) ++pairs[matches_[match].pair].low;
        for (const auto match : maybe_noise_) ++pairs[matches_[match].pair].maybe_noise;
        for (auto& [pair, played] : pairs) {
            const std::size_t count = played.rates.size();
            const auto are_most = [count](std::size_t some) { return 4 * some >= 3 * count; };
            const bool collides = are_most(played.low);
            if (count > 1 && collides) has_collision_ = true;
            if (count > 1 && are_most(played.low + played.maybe_noise)) has_low_pair_ = true;
            result_.pairs.push_back({pair, median(std::move(played.rates)), collides});
        }
    }

    // Colliding paths are low repeatedly: in the same pairs, or at the same level in many matches.
    // Many low matches without either, or within the error of their own iterations, are noise, as
    // on a machine with too few CPUs; they are a doubt.
    void add_paths() {
        const bool known = std::ranges::count(result_.findings, Kind::paths, kind_of) > 0;
        const std::size_t many = std::max<std::size_t>(6, matches_.size() / 100);
        if (known || (!has_low_pair_ && unexplained_low_.size() + maybe_noise_.size() < many)) {
            return;
        }
        Values levels;
        for (const auto match : unexplained_low_) levels.push_back(fit_.relative_rates[match]);
        constexpr double same_level = 0.06;
        constexpr double too_noisy = 0.15;
        if (!levels.empty() && fit_.sigma < too_noisy) {
            const double level = median(levels);
            Values spread;
            for (const double one : levels) spread.push_back(std::abs(one - level));
            const bool agree =
                levels.size() >= many && robust_sigma(std::move(spread)) < same_level;
            if (has_collision_ || agree) return add_finding({.kind = Kind::paths}, level, 0);
        }
        for (const auto match : maybe_noise_) levels.push_back(fit_.relative_rates[match]);
        set_doubt({Doubt::Kind::noise, {}, median(std::move(levels))});
    }

    void find_doubts() {
        const auto each = 2 * matches_.size() / nodes_;  // matches of one node
        // The relative rate below which a slow node would be found.
        const double detectable =
            std::exp(-critical_z(suspects_.size()) *
                     standard_error(fit_.sigma, each, matches_.size() - each));
        constexpr double worth_finding = 0.7;
        if (detectable < worth_finding) return set_doubt({Doubt::Kind::noise, {}, detectable});
        // A tree over two nodes sends each byte once, but a ring twice, so that all nodes of a
        // healthy cluster may reach only about half of what two reach.
        constexpr double low_together = 0.45;
        const double together =
            evidence_.all_nodes_bandwidth.value_or(fit_.healthy_rate) / fit_.healthy_rate;
        if (together < low_together) set_doubt({Doubt::Kind::all_nodes_slow, {}, together});
    }

    const Evidence& evidence_;
    const Matches& matches_;
    const std::vector<Suspect> suspects_;
    const Fit fit_;
    const std::size_t nodes_;           // number of suspects that are nodes; they come first
    std::vector<bool> is_unexplained_;  // by match: no suspect explains it
    std::vector<bool> low_;             // by match
    std::vector<Fault> intermittent_;
    std::vector<std::uint32_t> unexplained_low_;  // indices of low matches that no suspect explains
    std::vector<std::uint32_t> maybe_noise_;  // likewise, but within the error of their iterations
    bool has_collision_ = false;              // of a pair that played more than once
    bool has_low_pair_ = false;  // likewise, perhaps within the error of its iterations
    LimiterAnalysis result_;
};

}  // namespace

LimiterAnalysis find_limiters(const Evidence& evidence) {
    return LimiterSearch(evidence).run();
}

std::vector<std::uint32_t> nodes_to_retest(const LimiterAnalysis& analysis, std::uint32_t nodes) {
    std::vector<Finding> findings = analysis.findings;
    std::ranges::stable_sort(findings, {}, &Finding::relative_rate);
    std::vector<std::uint32_t> named;
    for (const Finding& finding : findings) {
        const bool known = std::ranges::find(named, finding.limiter.node) != named.end();
        if (concerns_one_node(finding.limiter) && !known && named.size() < nodes / 2) {
            named.push_back(finding.limiter.node);
        }
    }
    return named;
}

}  // namespace distgpu::scaling
