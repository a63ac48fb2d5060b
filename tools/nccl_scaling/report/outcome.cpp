#include "report/outcome.h"

#include "analysis/collectives.h"
#include "base/format.h"
#include "report/names.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace distgpu::scaling {
namespace {

constexpr double gb = 1e9;

// Nothing: all nodes together measured no bandwidth.
std::optional<std::size_t> main_measurement(const Results& results) {
    std::optional<std::size_t> main;
    const auto rank = [&](std::size_t index) {
        const Subject& one = results.measurements[index].subject;
        return std::tuple(-static_cast<int>(one.collective), one.bytes, !one.in_place);
    };
    for (std::size_t index = 0; index < results.measurements.size(); ++index) {
        const Measurement& one = results.measurements[index];
        if (!is_world(results, results.groups[one.group]) || !bus_bandwidth(results, one)) continue;
        if (!main || rank(index) > rank(*main)) main = index;
    }
    return main;
}

// `--expect` comes before the baseline.
std::optional<Headline> headline_of(const Results& results, std::optional<double> expect,
                                    const std::optional<Judgement>& judgement) {
    const auto main = main_measurement(results);
    if (!main) return std::nullopt;
    const Measurement& measurement = results.measurements[*main];
    Headline headline{*main, *bus_bandwidth(results, measurement), {}, 0, {}};
    if (expect) {
        headline.expected = {*expect, "--expect"};
    } else if (judgement) {
        for (const Change& change : judgement->changes) {
            if (change.measurement == *main) headline.expected = {change.before, "the baseline"};
        }
    }
    const auto fewest = communication_baseline(results);
    if (!fewest || *fewest == measurement.group) return headline;
    headline.baseline_nodes = results.groups[*fewest].number;
    headline.efficiency = communication_efficiency(results, measurement);
    return headline;
}

// "all-reduce 352.1 GB/s at 4 GiB, 78% of 1 node, 97% of the 365 GB/s of --expect"
std::string headline_text(const Results& results, const Headline& headline) {
    const Subject& subject = results.measurements[headline.measurement].subject;
    const auto percent = [](double share) { return formatted("{:.0f}%", 100 * share); };
    std::string text = formatted("{} {:.4g} GB/s at {}", row_of(subject.collective).name,
                                 headline.busbw / gb, format_bytes(subject.bytes));
    if (headline.efficiency) {
        text += formatted(", {} of {}", percent(*headline.efficiency),
                          counted(headline.baseline_nodes, "node"));
    }
    if (const auto& expected = headline.expected) {
        text +=
            formatted(", {} of the {:.4g} GB/s of {}", percent(headline.busbw / expected->busbw),
                      expected->busbw / gb, expected->source);
    }
    return text;
}

constexpr std::size_t most_named = 8;

template <class Items, class Name>
std::string listed(const Items& items, Name name) {
    std::string text;
    const auto named = std::min(items.size(), most_named);
    for (std::size_t index = 0; index < named; ++index) {
        if (index > 0) text += ", ";
        text += name(items[index]);
    }
    if (items.size() > named) text += formatted(" and {} more", items.size() - named);
    return text;
}

std::string reason(const Results& results, const Doubt& doubt) {
    const double percent = 100 * doubt.relative;
    switch (doubt.kind) {
        case Doubt::Kind::alone_on_switch: {
            const Node& node = results.nodes[doubt.nodes.front()];
            return formatted("{} is alone on switch {}: either may be at {:.0f}%", node.name,
                             leaf_of(node), percent);
        }
        case Doubt::Kind::alike:
            return formatted(
                "{} of {} nodes are at {:.0f}% ({}): of another kind, or with a common cause",
                doubt.nodes.size(), results.nodes.size(), percent,
                listed(doubt.nodes, [&](std::uint32_t node) { return results.nodes[node].name; }));
        case Doubt::Kind::noise:
            return formatted(
                "equal measurements differ so much that a node at {:.0f}% would not "
                "stand out",
                percent);
        case Doubt::Kind::all_nodes:
            return formatted("all nodes together reach {:.0f}% of what two of them do", percent);
        case Doubt::Kind::none:
            break;
    }
    return "";
}

std::string limiters_text(const Results& results, const Blame& blame) {
    if (!blame.findings.empty()) {
        return listed(blame.findings, [&](const Finding& finding) {
            return limiter_name(results, finding.limiter);
        });
    }
    if (blame.doubt.kind != Doubt::Kind::none) {
        return "undecided, because " + reason(results, blame.doubt);
    }
    if (blame.decidable) return "none";
    if (results.nodes.size() > 2) return "not measured";
    return "cannot be determined with " + counted(results.nodes.size(), "node");
}

std::vector<SlowPart> slow_parts_of(const Results& results, const Blame& blame) {
    std::vector<SlowPart> parts;
    for (const auto& [limiter, relative, deviations] : blame.findings) {
        parts.push_back({limiter_name(results, limiter), limiter.kind, relative,
                         deviations > 0 ? std::optional(-deviations) : std::nullopt,
                         is_of_a_node(limiter) ? std::optional(limiter.node) : std::nullopt});
    }
    for (const PairScore& pair : blame.pairs) {
        if (!pair.collision) continue;
        const auto name = [&](std::uint32_t node) { return results.nodes[node].name; };
        parts.push_back({formatted("{} - {}", name(pair.pair.first), name(pair.pair.second)),
                         Limiter::Kind::paths, pair.relative, std::nullopt});
    }
    std::ranges::stable_sort(parts, {}, &SlowPart::relative);
    return parts;
}

}  // namespace

Report report_of(const Results& results, std::optional<double> expect, const Baseline* baseline) {
    Report report{results};
    report.efficiency = efficiency_curves(results);
    auto judgement = baseline != nullptr ? std::optional(judge(results, *baseline)) : std::nullopt;
    report.headline = headline_of(results, expect, judgement);
    const Blame blamed = blame(evidence_of(results));
    report.slow_parts = slow_parts_of(results, blamed);
    for (const Finding& finding : blamed.findings) {
        report.limiters.push_back(limiter_name(results, finding.limiter));
    }
    if (results.failure) return report;
    report.verdict = verdict_line(results, blamed, report.headline);
    report.judgement = std::move(judgement);
    return report;
}

std::string verdict_line(const Results& results, const Blame& blame,
                         const std::optional<Headline>& headline) {
    return formatted("{}: {}; limiter: {}", counted(results.nodes.size(), "node"),
                     headline ? headline_text(results, *headline) : "bandwidth not measured",
                     limiters_text(results, blame));
}

}  // namespace distgpu::scaling
