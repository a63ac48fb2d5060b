#include "analysis/blame.h"

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

// Of a suspect or a finding.
constexpr auto kind_of = [](const auto& one) { return one.limiter.kind; };

// What is slow by a fault is slower than by the usual differences between healthy peers: by more
// than this, from the healthy ones' effects, without what noise adds to their spread. Of few
// effects it is not known well: it counts as if three more differed as nodes usually do. The limit
// is what of 1,000 simulated clusters whose nodes differ by 4 % names somebody in about 10.
// However the healthy ones differ, as where some links burst, half the rate of peers is no usual
// difference.
// `noise`: variances of the single effects by chance, added up.
double unusual_effect(const Values& effects, double noise) {
    constexpr double usual = 0.015;
    constexpr double assumed = 3;
    if (effects.empty()) return 0;
    const double middle = median(effects);
    double squares = -noise;
    for (const double effect : effects) squares += (effect - middle) * (effect - middle);
    squares = std::max(squares, 0.0) + assumed * usual * usual;
    const auto count = static_cast<double>(effects.size());
    return std::min((7 + 6 / count) * std::sqrt(squares / (count - 1 + assumed)), effect_of(0.5));
}

// Of some matches, how many are low.
struct Count {
    double played = 0;
    double low = 0;

    void add(const Count& more) {
        played += more.played;
        low += more.low;
    }
    void add(bool is_low) { add(Count{1, is_low ? 1.0 : 0.0}); }
    // Never 0 or 1: what was not seen in a few matches may still happen.
    double share() const { return (low + 0.5) / (played + 1); }
    // Logarithm of the binomial likelihood.
    double likelihood(double share) const {
        return low * std::log(share) + (played - low) * std::log(1 - share);
    }
};

// A rail, or a node on its own, that is slower than its peers.
struct SlowPeer {
    std::uint32_t number = 0;
    double relative = 0;  // to what the others could do
    double deviations = 0;
};

// Those whose value is below `healthy` by `least` and by what chance could do.
std::vector<SlowPeer> slower_than(double healthy, const std::map<std::uint32_t, double>& values,
                                  double error, double least = least_effect) {
    std::vector<SlowPeer> slow;
    for (const auto& [number, value] : values) {
        const double effect = effect_of(value / healthy);
        if (effect < std::max(least, bound(values.size()) * error)) continue;
        slow.push_back({number, value / healthy, error > 0 ? effect / error : 0});
    }
    return slow;
}

using Rates = std::map<std::uint32_t, Values>;  // by rail or node

// A node has few rails, often two, whose spread says nothing: the faster half shows what the others
// could do.
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
        for (const double rate : rates) residuals.push_back(std::abs(effect_of(rate / middle)));
    }
    if (fewest >= 8) sigma = robust_sigma(std::move(residuals));  // often enough to know it
    std::ranges::sort(sorted);
    return slower_than(sorted[sorted.size() / 2], medians, standard_error(sigma, fewest, fewest));
}

// What disturbs a node now and then is not in it: its best measurement counts.
std::vector<SlowPeer> slow_alone(const Rates& alone, double sigma) {
    if (alone.size() < 3) return {};
    std::map<std::uint32_t, double> best;
    Values values;
    for (const auto& [node, rates] : alone) {
        values.push_back(best[node] = *std::ranges::max_element(rates));
    }
    const double healthy = median(values);
    const double error = standard_error(sigma, 1, values.size());
    const double limit = std::max(least_effect, bound(values.size()) * error);
    for (double& value : values) value = effect_of(value / healthy);
    std::erase_if(values, [&](double effect) { return effect >= limit; });
    return slower_than(healthy, best, error, std::max(limit, unusual_effect(values, 0)));
}

// The rails of one node that are slower than its others, each next to that rail between nodes that
// it did not meet, where there are any.
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

// Puts the findings of matches, rails and nodes alone together.
class Case {
  public:
    explicit Case(const Evidence& evidence)
        : evidence_(evidence),
          matches_(evidence.matches),
          suspects_(suspects_of(evidence)),
          fit_(fit_matches(evidence.matches, suspects_)),
          nodes_(static_cast<std::size_t>(std::ranges::count(suspects_, Kind::node, kind_of))) {}

    Blame judge() && {
        find_passing();
        result_.decidable = nodes_ >= 3;
        if (result_.decidable) {
            name_lasting();
            name_passing();
        }
        name_peers();
        score_pairs();
        if (result_.decidable) name_paths();
        if (result_.decidable && result_.findings.empty()) look_for_doubts();
        std::ranges::sort(result_.findings, {}, place);
        return std::move(result_);
    }

  private:
    static std::tuple<Kind, std::uint32_t, std::uint32_t> place(const Finding& finding) {
        const auto& [kind, node, local_rank, intermittent] = finding.limiter;
        return {kind == Kind::node_rail ? Kind::node : kind, node, local_rank};
    }

    void name(const Limiter& limiter, double relative, double deviations) {
        result_.findings.push_back({limiter, relative, deviations});
    }

    // The first is the gravest.
    void doubt(Doubt doubt) {
        if (result_.doubt.kind == Doubt::Kind::none) result_.doubt = std::move(doubt);
    }

    // The error that a match's own iterations leave is part of its noise. As a share of the rate,
    // since chance makes a single match far slower more often than far faster: with a noise of a
    // quarter, none is low.
    bool is_low(std::size_t match, double deviations, double sigma) const {
        const double limit = 1 - std::max(0.12, deviations * sigma);
        return fit_.relative[match] < limit * fit_.expected[match];
    }
    bool is_low(std::size_t match, double deviations) const {
        return is_low(match, deviations, std::max(fit_.sigma, matches_[match].error));
    }

    // Of matches that are low and that no lasting fault explains: suspects that are slow in a share
    // of their matches only. What is left is nobody's.
    void find_passing() {
        for (std::size_t i = 0; i < matches_.size(); ++i) {
            open_.push_back(fit_.is_free(i));
            low_.push_back(is_low(i, 4));
        }
        while (const auto found = next_passing()) {
            passing_.push_back(*found);
            for (const auto match : suspects_[found->suspect].matches) {
                if (low_[match]) open_[match] = false;
            }
        }
        // A pattern speaks for itself; single matches have to be further off.
        for (std::uint32_t i = 0; i < matches_.size(); ++i) {
            if (!open_[i] || !is_low(i, 6, fit_.sigma)) continue;
            (is_low(i, 6) ? unexplained_ : unclear_).push_back(i);
        }
    }

    // Of matches that are still open.
    struct Tally {
        Count matches;
        Count evidence;  // a pair that is always low, or never, may be a path of its own: one match
        std::size_t pairs = 0;
    };
    Tally tally_of(const std::vector<std::uint32_t>& chosen) const {
        std::map<Pair, Count> pairs;
        for (const auto match : chosen) {
            if (open_[match]) pairs[matches_[match].pair].add(low_[match]);
        }
        Tally tally;
        tally.pairs = pairs.size();
        for (const auto& [pair, count] : pairs) {
            tally.matches.add(count);
            const bool mixed = count.low > 0 && count.low < count.played;
            tally.evidence.add(mixed ? count : Count{1, count.low > 0 ? 1.0 : 0.0});
        }
        return tally;
    }

    // By the ratio of two likelihoods: that the suspect's matches are low at a share of their own,
    // or that they are as often as all others.
    std::optional<Fault> next_passing() const {
        std::vector<std::uint32_t> everything(matches_.size());
        std::iota(everything.begin(), everything.end(), 0U);
        const Tally all = tally_of(everything);
        if (all.matches.low == 0) return std::nullopt;
        std::optional<Fault> found;
        double most = 11 + std::log(static_cast<double>(suspects_.size()));
        for (std::size_t i = 0; i < suspects_.size(); ++i) {
            const auto [own, evidence, pairs] = tally_of(suspects_[i].matches);
            const Count others{all.matches.played - own.played, all.matches.low - own.low};
            // A single pair beside its own may as well be the one that is lucky.
            if (all.pairs < pairs + 2 || own.low < 0.2 * own.played ||
                own.share() < others.share() + 0.2) {
                continue;
            }
            const double gain =
                evidence.likelihood(evidence.share()) - evidence.likelihood(others.share());
            if (gain <= most) continue;
            most = gain;
            Values levels;
            for (const auto match : suspects_[i].matches) {
                if (open_[match] && low_[match]) levels.push_back(fit_.relative[match]);
            }
            found = Fault{i, median(std::move(levels)), 0, own.low / own.played};
        }
        return found;
    }

    // Whether the node's switch explains the same, so that neither is named.
    bool is_open(const Fault& fault) {
        const auto& suspect = suspects_[fault.suspect];
        if (suspect.also_switch) {
            doubt({Doubt::Kind::alone_on_switch, {suspect.limiter.node}, fault.level});
        }
        return suspect.also_switch;
    }

    void name_lasting() {
        std::vector<Fault> nodes;
        for (const auto& fault : fit_.faults) {
            if (is_open(fault)) continue;
            const auto& limiter = suspects_[fault.suspect].limiter;
            if (limiter.kind == Kind::node) {
                nodes.push_back(fault);
            } else {
                name(limiter, fault.level, fault.deviations);
            }
        }
        const double usual = usual_effect(nodes);
        std::erase_if(nodes, [&](const auto& fault) { return effect_of(fault.level) < usual; });
        if (are_a_kind(nodes)) {
            std::vector<std::uint32_t> numbers;
            numbers.reserve(nodes.size());
            for (const auto& fault : nodes) {
                numbers.push_back(suspects_[fault.suspect].limiter.node);
            }
            std::ranges::sort(numbers);
            return doubt({Doubt::Kind::alike, std::move(numbers), nodes.front().level});
        }
        for (const auto& fault : nodes) {
            name(suspects_[fault.suspect].limiter, fault.level, fault.deviations);
        }
    }

    // Of a node that is well, the upper part of its matches shows what it can do.
    double usual_effect(const std::vector<Fault>& slow) const {
        // Variance of the 90th percentile, by sigma^2 / n: half of 2.9, as sigma is rather too
        // large.
        constexpr double of_percentile = 1.45;
        Values effects;
        double noise = 0;
        for (std::size_t i = 0; i < nodes_; ++i) {
            Values rates;
            for (const auto match : suspects_[i].matches) {
                if (fit_.is_free(match)) rates.push_back(fit_.relative[match]);
            }
            if (rates.empty() || std::ranges::count(slow, i, &Fault::suspect) > 0) continue;
            noise += of_percentile * fit_.sigma * fit_.sigma / static_cast<double>(rates.size());
            effects.push_back(effect_of(percentile_of(std::move(rates), 0.9)));
        }
        return unusual_effect(effects, noise);
    }

    // A fault that slows a third of the nodes or more, all by the same share, may be their design,
    // and one that slows half of them by any.
    bool are_a_kind(const std::vector<Fault>& nodes) const {
        const auto count = static_cast<double>(nodes.size());
        if (2 * nodes.size() >= nodes_) return true;
        if (count < std::max(3.0, 0.3 * static_cast<double>(nodes_))) return false;
        const auto [least, most] = std::ranges::minmax_element(nodes, {}, &Fault::level);
        return most->level - least->level < std::max(0.04, fit_.sigma);
    }

    void name_passing() {
        for (const auto& fault : passing_) {
            if (is_open(fault)) continue;
            auto limiter = suspects_[fault.suspect].limiter;
            // Few of the matches that cross: not the switches' rate but the routes.
            if (limiter.kind == Kind::spine && fault.share < 0.5) limiter = {.kind = Kind::paths};
            limiter.intermittent = limiter.kind != Kind::spine && limiter.kind != Kind::paths;
            name(limiter, fault.level, 0);
        }
    }

    // Nodes that are slow on their own, slow rails, and the ports of named nodes. Of a node that
    // was tried again rail by rail, the slow ones are its ports. Another slow rail is a port of the
    // one node that is as slow as it is and has no other cause; where no such node is slow, it is
    // slow on all nodes. Else it stays open which node's it is, and the nodes keep their names.
    void name_peers() {
        const auto inside = slow_alone(evidence_.alone, fit_.sigma);
        Ports ports;
        std::vector<Finding> open;  // nodes that the matches accuse and that are well on their own
        std::vector<std::uint32_t> named;
        for (const Finding& finding : result_.findings) {
            const auto node = finding.limiter.node;
            if (finding.limiter.kind != Kind::node) continue;
            named.push_back(node);
            if (std::ranges::count(inside, node, &SlowPeer::number) > 0) continue;
            const auto slow = slow_ports(evidence_.pair_rails, node, fit_.sigma);
            for (const auto& port : slow) ports[node].push_back(port.number);
            if (slow.empty()) open.push_back(finding);
        }
        for (const auto& [number, relative, deviations] : inside) {
            if (std::ranges::count(named, number) == 0) {
                name({.node = number}, relative, deviations);
            }
        }
        for (const auto& rail : slow_rails(evidence_.rails, fit_.sigma)) {
            name_rail(rail, open, ports);
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

    using Ports = std::map<std::uint32_t, std::vector<std::uint32_t>>;  // by node: slow rails

    void name_rail(const SlowPeer& rail, const std::vector<Finding>& open, Ports& ports) {
        const bool explained = std::ranges::any_of(result_.findings, [&](const Finding& one) {
            const auto found = ports.find(one.limiter.node);  // a port that is as slow
            return one.limiter.kind == Kind::node && found != ports.end() &&
                   std::ranges::count(found->second, rail.number) > 0 &&
                   one.relative < rail.relative + least_effect;
        });
        if (explained) return;
        if (open.empty() && result_.doubt.kind == Doubt::Kind::none) {
            return name({.kind = Kind::rail, .local_rank = rail.number}, rail.relative,
                        rail.deviations);
        }
        std::vector<std::uint32_t> owners;  // as slow as the rail
        for (const auto& finding : open) {
            if (std::abs(finding.relative - rail.relative) < least_effect) {
                owners.push_back(finding.limiter.node);
            }
        }
        if (owners.size() == 1) ports[owners.front()].push_back(rail.number);
    }

    // A pair collides where three quarters of its matches are low, and nobody explains them.
    void score_pairs() {
        struct Played {
            Values rates{};
            std::size_t low = 0;
            std::size_t unclear = 0;
        };
        std::map<Pair, Played> pairs;
        for (std::size_t i = 0; i < matches_.size(); ++i) {
            pairs[matches_[i].pair].rates.push_back(fit_.relative[i]);
        }
        for (const auto match : unexplained_) ++pairs[matches_[match].pair].low;
        for (const auto match : unclear_) ++pairs[matches_[match].pair].unclear;
        for (auto& [pair, played] : pairs) {
            const std::size_t count = played.rates.size();
            const auto are_most = [count](std::size_t some) { return 4 * some >= 3 * count; };
            const bool collides = are_most(played.low);
            if (count > 1 && collides) has_collision_ = true;
            if (count > 1 && are_most(played.low + played.unclear)) has_low_pair_ = true;
            result_.pairs.push_back({pair, median(std::move(played.rates)), collides});
        }
    }

    // Paths that collide are low again and again: by the same pairs, or at the same level in many
    // matches. Many low matches that agree in neither, or that are low no more than their own
    // iterations differ, are noise, as of a machine with too few CPUs: a doubt.
    void name_paths() {
        const bool known = std::ranges::count(result_.findings, Kind::paths, kind_of) > 0;
        const std::size_t many = std::max<std::size_t>(6, matches_.size() / 100);
        if (known || (!has_low_pair_ && unexplained_.size() + unclear_.size() < many)) return;
        Values levels;
        for (const auto match : unexplained_) levels.push_back(fit_.relative[match]);
        constexpr double same_level = 0.06;
        constexpr double too_noisy = 0.15;
        if (!levels.empty() && fit_.sigma < too_noisy) {
            const double level = median(levels);
            Values spread;
            for (const double one : levels) spread.push_back(std::abs(one - level));
            const bool agree =
                levels.size() >= many && robust_sigma(std::move(spread)) < same_level;
            if (has_collision_ || agree) return name({.kind = Kind::paths}, level, 0);
        }
        for (const auto match : unclear_) levels.push_back(fit_.relative[match]);
        doubt({Doubt::Kind::noise, {}, median(std::move(levels))});
    }

    void look_for_doubts() {
        const auto each = 2 * matches_.size() / nodes_;
        const double hidden = std::exp(-bound(suspects_.size()) *
                                       standard_error(fit_.sigma, each, matches_.size() - each));
        constexpr double worth_finding = 0.7;  // what could not be told from noise is not ruled out
        if (hidden < worth_finding) return doubt({Doubt::Kind::noise, {}, hidden});
        // A tree over two nodes sends each byte once where a ring sends it twice, so that all nodes
        // of a healthy cluster may be near one half of what two reach.
        constexpr double low_together = 0.45;
        const double together = evidence_.all_nodes.value_or(fit_.healthy) / fit_.healthy;
        if (together < low_together) doubt({Doubt::Kind::all_nodes, {}, together});
    }

    const Evidence& evidence_;
    const Matches& matches_;
    const std::vector<Suspect> suspects_;
    const Fit fit_;
    const std::size_t nodes_;  // that are suspects; these come first
    std::vector<bool> open_;   // by match: nobody explains it
    std::vector<bool> low_;
    std::vector<Fault> passing_;
    std::vector<std::uint32_t> unexplained_;  // low matches of nobody: by index
    std::vector<std::uint32_t> unclear_;      // those that their own iterations may explain
    bool has_collision_ = false;              // a pair that played more than once
    bool has_low_pair_ = false;               // likewise, though its iterations may explain it
    Blame result_;
};

}  // namespace

Blame blame(const Evidence& evidence) {
    return Case(evidence).judge();
}

std::vector<std::uint32_t> nodes_to_retest(const Blame& blame, std::uint32_t nodes) {
    std::vector<Finding> findings = blame.findings;
    std::ranges::stable_sort(findings, {}, &Finding::relative);
    std::vector<std::uint32_t> named;
    for (const Finding& finding : findings) {
        const bool known = std::ranges::find(named, finding.limiter.node) != named.end();
        if (is_of_a_node(finding.limiter) && !known && named.size() < nodes / 2) {
            named.push_back(finding.limiter.node);
        }
    }
    return named;
}

}  // namespace distgpu::scaling
