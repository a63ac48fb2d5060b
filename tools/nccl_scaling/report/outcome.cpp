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

// nullopt if there is no bandwidth of all nodes.
std::optional<std::size_t> main_measurement(const Results& results) {
    std::optional<std::size_t> main;
    const auto priority = [&](std::size_t index) {
        const Operation& one = results.measurements[index].operation;
        return std::tuple(-static_cast<int>(one.collective), one.bytes, !one.in_place);
    };
    for (std::size_t index = 0; index < results.measurements.size(); ++index) {
        const Measurement& one = results.measurements[index];
        if (!is_world(results, results.groups[one.group]) || !bus_bandwidth(results, one)) continue;
        if (!main || priority(index) > priority(*main)) main = index;
    }
    return main;
}

// `--expect` takes precedence over the baseline.
std::optional<Headline> headline_of(const Results& results, std::optional<double> expected_busbw,
                                    const std::optional<Comparison>& comparison) {
    const auto main = main_measurement(results);
    if (!main) return std::nullopt;
    const Measurement& measurement = results.measurements[*main];
    Headline headline{*main, *bus_bandwidth(results, measurement), {}, 0, {}};
    if (expected_busbw) {
        headline.expected = {*expected_busbw, "--expect"};
    } else if (comparison) {
        for (const Change& change : comparison->changes) {
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
    const Operation& operation = results.measurements[headline.measurement].operation;
    const auto percent = [](double share) { return formatted("{:.0f}%", 100 * share); };
    std::string text = formatted("{} {:.4g} GB/s at {}", info_of(operation.collective).name,
                                 headline.busbw / gb, format_bytes(operation.bytes));
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

constexpr std::size_t max_named = 8;

template <class Items, class Name>
std::string list_some(const Items& items, Name name) {
    std::string text;
    const auto named = std::min(items.size(), max_named);
    for (std::size_t index = 0; index < named; ++index) {
        if (index > 0) text += ", ";
        text += name(items[index]);
    }
    if (items.size() > named) text += formatted(" and {} more", items.size() - named);
    return text;
}

std::string doubt_text(const Results& results, const Doubt& doubt) {
    const double percent = 100 * doubt.relative_rate;
    switch (doubt.kind) {
        case Doubt::Kind::alone_on_switch: {
            const Node& node = results.nodes[doubt.nodes.front()];
            return formatted("{} is alone on switch {}: either may be at {:.0f}%", node.name,
                             leaf_of(node), percent);
        }
        case Doubt::Kind::common_cause:
            return formatted(
                "{} of {} nodes are at {:.0f}% ({}): different hardware or a common cause",
                doubt.nodes.size(), results.nodes.size(), percent,
                list_some(doubt.nodes,
                          [&](std::uint32_t node) { return results.nodes[node].name; }));
        case Doubt::Kind::noise:
            return formatted(
                "repeated measurements differ so much that a node at {:.0f}% would not "
                "stand out",
                percent);
        case Doubt::Kind::all_nodes_slow:
            return formatted("all nodes together reach {:.0f}% of what two of them do", percent);
        case Doubt::Kind::none:
            break;
    }
    return "";
}

std::string limiters_text(const Results& results, const LimiterAnalysis& analysis) {
    if (!analysis.findings.empty()) {
        return list_some(analysis.findings, [&](const Finding& finding) {
            return limiter_name(results, finding.limiter);
        });
    }
    if (analysis.doubt.kind != Doubt::Kind::none) {
        return "undecided, because " + doubt_text(results, analysis.doubt);
    }
    if (analysis.is_decidable) return "none";
    if (results.nodes.size() > 2) return "not measured";
    return "cannot be determined with " + counted(results.nodes.size(), "node");
}

std::vector<SlowPart> slow_parts_of(const Results& results, const LimiterAnalysis& analysis) {
    std::vector<SlowPart> parts;
    for (const auto& [limiter, relative_rate, z_score] : analysis.findings) {
        parts.push_back({limiter_name(results, limiter), limiter.kind, relative_rate,
                         z_score > 0 ? std::optional(-z_score) : std::nullopt,
                         concerns_one_node(limiter) ? std::optional(limiter.node) : std::nullopt});
    }
    for (const PairRate& pair : analysis.pairs) {
        if (!pair.collides) continue;
        const auto name = [&](std::uint32_t node) { return results.nodes[node].name; };
        parts.push_back({formatted("{} - {}", name(pair.pair.first), name(pair.pair.second)),
                         Limiter::Kind::paths, pair.relative_rate, std::nullopt});
    }
    std::ranges::stable_sort(parts, {}, &SlowPart::relative_rate);
    return parts;
}

}  // namespace

Report make_report(const Results& results, std::optional<double> expected_busbw,
                   const Baseline* baseline) {
    Report report{results};
    report.efficiency = efficiency_curves(results);
    auto comparison =
        baseline != nullptr ? std::optional(compare_runs(results, *baseline)) : std::nullopt;
    report.headline = headline_of(results, expected_busbw, comparison);
    const LimiterAnalysis analysis = find_limiters(evidence_of(results));
    report.slow_parts = slow_parts_of(results, analysis);
    for (const Finding& finding : analysis.findings) {
        report.limiters.push_back(limiter_name(results, finding.limiter));
    }
    if (results.failure) return report;
    report.verdict = verdict_line(results, analysis, report.headline);
    report.comparison = std::move(comparison);
    return report;
}

std::string verdict_line(const Results& results, const LimiterAnalysis& analysis,
                         const std::optional<Headline>& headline) {
    return formatted("{}: {}; limiter: {}", counted(results.nodes.size(), "node"),
                     headline ? headline_text(results, *headline) : "bandwidth not measured",
                     limiters_text(results, analysis));
}

}  // namespace distgpu::scaling
