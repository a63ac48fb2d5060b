#include "analysis/blame.h"

#include "analysis/fault_models.h"
#include "analysis/intermittent.h"
#include "analysis/match_fit.h"
#include "analysis/own_figures.h"
#include "analysis/pair_scores.h"
#include "analysis/peers.h"
#include "analysis/statistics.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace distgpu::scaling {
namespace {

using Kind = Limiter::Kind;

// A fault that slows a third of the nodes or more, all by the same share, may be their design.
constexpr double large_group = 0.3;
constexpr double alike = 0.04;
// Of all nodes together, where two of them reach 1. A tree over two nodes sends each byte once
// where a ring sends it twice, so that a healthy cluster may be near one half.
constexpr double low_together = 0.45;
// What could not be told from noise is not ruled out.
constexpr double worth_finding = 0.3;

class Case {
  public:
    explicit Case(const Evidence& evidence)
        : evidence_(evidence),
          models_(fault_models(evidence)),
          fit_(fit_matches(evidence.matches, models_)),
          low_(low_matches(evidence.matches, models_, fit_)) {
        nodes_ = static_cast<std::size_t>(
            std::count_if(models_.begin(), models_.end(),
                          [](const auto& model) { return model.limiter.kind == Kind::node; }));
    }

    Blame judge() && {
        result_.decidable = nodes_ >= 3;
        if (result_.decidable) {
            lasting();
            passing();
        }
        add_own_figures(result_, evidence_, fit_.noise);
        collisions();
        if (result_.decidable && result_.findings.empty()) doubts();
        std::sort(result_.findings.begin(), result_.findings.end(),
                  [](const Finding& a, const Finding& b) { return place(a) < place(b); });
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

    void lasting() {
        std::vector<FittedFault> nodes;
        for (const auto& fault : fit_.faults) {
            const auto& model = models_[fault.model];
            if (model.also_switch) {
                doubt({Doubt::Kind::alone_on_switch, {model.limiter.node}, fault.level});
            } else if (model.limiter.kind == Kind::node) {
                nodes.push_back(fault);
            } else {
                name(model.limiter, fault.level, fault.deviations);
            }
        }
        const double usual = unusual_effect(scores_of_others(nodes));
        nodes.erase(
            std::remove_if(nodes.begin(), nodes.end(),
                           [&](const FittedFault& fault) { return 1 - fault.level < usual; }),
            nodes.end());
        if (are_a_kind(nodes)) {
            std::vector<std::uint32_t> numbers;
            numbers.reserve(nodes.size());
            for (const auto& fault : nodes) numbers.push_back(models_[fault.model].limiter.node);
            std::sort(numbers.begin(), numbers.end());
            doubt({Doubt::Kind::alike, numbers, nodes.front().level});
            return;
        }
        for (const auto& fault : nodes) {
            name(models_[fault.model].limiter, fault.level, fault.deviations);
        }
    }

    // Of a node that is well, the upper part of its matches shows what it can do.
    std::vector<double> scores_of_others(const std::vector<FittedFault>& slow) const {
        std::vector<double> scores;
        for (std::size_t i = 0; i < nodes_; ++i) {
            if (std::any_of(slow.begin(), slow.end(),
                            [&](const FittedFault& fault) { return fault.model == i; })) {
                continue;
            }
            std::vector<double> rates;
            for (const auto match : models_[i].matches) {
                if (fit_.expected[match] == 1) rates.push_back(fit_.relative[match]);
            }
            std::sort(rates.begin(), rates.end());
            if (!rates.empty()) scores.push_back(percentile(rates, 0.9));
        }
        return scores;
    }

    bool are_a_kind(const std::vector<FittedFault>& nodes) const {
        if (2 * nodes.size() >= nodes_) return true;
        if (nodes.size() < 3 ||
            static_cast<double>(nodes.size()) < large_group * static_cast<double>(nodes_)) {
            return false;
        }
        const auto [least, most] = std::minmax_element(
            nodes.begin(), nodes.end(),
            [](const FittedFault& a, const FittedFault& b) { return a.level < b.level; });
        return most->level - least->level < std::max(alike, fit_.noise);
    }

    void passing() {
        for (const auto& [index, share, level] : low_.faults) {
            const auto& model = models_[index];
            if (model.also_switch) {
                doubt({Doubt::Kind::alone_on_switch, {model.limiter.node}, level});
                continue;
            }
            auto limiter = model.limiter;
            // Few of the matches that cross: not the switches' rate but the routes.
            if (limiter.kind == Kind::spine && share < 0.5) limiter = {.kind = Kind::paths};
            limiter.intermittent = limiter.kind != Kind::spine && limiter.kind != Kind::paths;
            name(limiter, level, 0);
        }
    }

    void collisions() {
        result_.pairs = pair_scores(evidence_.matches, fit_, low_.unexplained);
        const bool known =
            std::any_of(result_.findings.begin(), result_.findings.end(),
                        [](const auto& finding) { return finding.limiter.kind == Kind::paths; });
        if (!result_.decidable || known || !paths_collide(low_.unexplained, result_.pairs)) return;
        std::vector<double> levels;
        for (const auto match : low_.unexplained) levels.push_back(fit_.relative[match]);
        name({.kind = Kind::paths}, median(std::move(levels)), 0);
    }

    void doubts() {
        const auto matches = evidence_.matches.size();
        const double told =
            far_off(models_.size()) *
            standard_error(fit_.noise, 2 * matches / nodes_, matches - 2 * matches / nodes_);
        if (told > worth_finding) return doubt({Doubt::Kind::noise, {}, 1 - told});
        if (!evidence_.all_nodes) return;
        const double together = *evidence_.all_nodes / fit_.healthy;
        if (together < low_together) doubt({Doubt::Kind::all_nodes, {}, together});
    }

    // The first is the gravest.
    void doubt(Doubt doubt) {
        if (result_.doubt.kind == Doubt::Kind::none) result_.doubt = std::move(doubt);
    }

    const Evidence& evidence_;
    const std::vector<FaultModel> models_;
    const MatchFit fit_;
    const LowMatches low_;
    std::size_t nodes_ = 0;  // that are models; these come first
    Blame result_;
};

}  // namespace

Blame blame(const Evidence& evidence) {
    return Case(evidence).judge();
}

}  // namespace distgpu::scaling
