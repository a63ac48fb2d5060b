#include "report/headline.h"

#include "analysis/bus_bandwidth.h"
#include "analysis/efficiency.h"
#include "base/format.h"
#include "report/names.h"
#include "report/reference_figures.h"
#include "report/units.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace distgpu::scaling {
namespace {

// A health check's lower limit is not what is expected; of several algorithms the best is.
std::optional<ExpectedBandwidth> published(const Results& results, const Measurement& of) {
    std::optional<ExpectedBandwidth> best;
    for (const auto& [figure, bytes, busbw] : compare_with_references(results)) {
        if (figure->nodes != results.nodes.size() || figure->kind == "lower limit") continue;
        if (of.collective != Collective::all_reduce || of.in_place || of.bytes != bytes) continue;
        if (!best || figure->busbw > best->busbw) best = {figure->busbw, "published figures"};
    }
    return best;
}

}  // namespace

std::optional<std::size_t> main_measurement(const Results& results) {
    std::optional<std::size_t> main;
    const auto rank = [&](std::size_t index) {
        const Measurement& one = results.measurements[index];
        return std::tuple(-static_cast<int>(one.collective), one.bytes, !one.in_place);
    };
    for (std::size_t index = 0; index < results.measurements.size(); ++index) {
        const Measurement& one = results.measurements[index];
        if (!is_world(results, results.groups[one.group]) || !bus_bandwidth(results, one)) continue;
        if (!main || rank(index) > rank(*main)) main = index;
    }
    return main;
}

std::optional<Headline> headline_of(const Results& results,
                                    std::optional<ExpectedBandwidth> expected) {
    const auto main = main_measurement(results);
    if (!main) return std::nullopt;
    const Measurement& measurement = results.measurements[*main];
    Headline headline{*main, *bus_bandwidth(results, measurement), {}, 0, std::move(expected)};
    if (!headline.expected) headline.expected = published(results, measurement);
    const auto baseline = communication_baseline(results);
    if (!baseline || *baseline == measurement.group) return headline;
    headline.baseline_nodes = results.groups[*baseline].number;
    for (const auto& [index, efficiency] : communication_efficiency(results)) {
        if (index == *main) headline.efficiency = efficiency;
    }
    return headline;
}

std::string headline_text(const Results& results, const Headline& headline) {
    const Measurement& measurement = results.measurements[headline.measurement];
    const auto percent = [](double share) { return formatted("{:.0f}%", 100 * share); };
    std::string text =
        formatted("{} {:.4g} GB/s at {}", collective_name(measurement.collective, measurement.op),
                  headline.busbw / 1e9, format_bytes(measurement.bytes));
    if (headline.efficiency) {
        text += formatted(", {} of {}", percent(*headline.efficiency),
                          counted(headline.baseline_nodes, "node"));
    }
    if (const auto& expected = headline.expected) {
        text +=
            formatted(", {} of the {:.4g} GB/s of {}", percent(headline.busbw / expected->busbw),
                      expected->busbw / 1e9, expected->source);
    }
    return text;
}

}  // namespace distgpu::scaling
