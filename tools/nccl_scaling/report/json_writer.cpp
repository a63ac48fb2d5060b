// Writes distgpu.scaling/1. See report_json.h.
#include "analysis/bus_bandwidth.h"
#include "analysis/order_gain.h"
#include "base/format.h"
#include "base/json_text.h"
#include "report/columns.h"
#include "report/reference_figures.h"
#include "report/report_json.h"
#include "report/words.h"
#include "results/results_json.h"

#include <array>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace distgpu::scaling {
namespace {

JsonText variable_json(const Variable& variable) {
    return {{"name", variable.name},
            {"value", variable.value},
            {"origin", json_text_or_null(variable.origin)}};
}

JsonText failure_json(const std::optional<Failure>& failure) {
    if (!failure) return {};
    return {{"phase", failure->phase},
            {"problem", failure->problem},
            {"missing", JsonText::list(failure->missing)}};
}

JsonText node_json(const Node& node) {
    return {{"name", node.name},
            {"ranks", node.ranks},
            {"gpus", JsonText::list(node.gpus)},
            {"rails", JsonText::list(node.rails)},
            {"switches", node.switches},
            {"facts", JsonText::list(node.facts)},
            {"rates", JsonText::list(node.rates, rates_json)}};
}

JsonText group_json(const Group& group) {
    return {{"kind", words::word_of(words::group_kinds, group.kind)},
            {"nodes", JsonText::list(group.nodes)},
            {"ranks", group.ranks},
            {"number", group.number}};
}

// Adds these columns of a measurement.
template <std::size_t size>
void add(std::vector<JsonMember>& members, const std::array<Column, size>& columns,
         const Results& results, const Measurement& measurement) {
    for (const Column column : columns) {
        const ColumnRow& row = row_of(column);
        members.push_back({row.json, std::visit([](const auto& value) { return JsonText(value); },
                                                row.value(results, measurement))});
    }
}

JsonText measurement_json(const Results& results, const Measurement& measurement) {
    constexpr std::array subject{Column::collective, Column::op, Column::type, Column::in_place,
                                 Column::bytes};
    constexpr std::array times{Column::median, Column::mean, Column::min, Column::p5,
                               Column::p95,    Column::p99,  Column::cv,  Column::iterations};
    constexpr std::array bandwidths{Column::algbw, Column::busbw};
    std::vector<JsonMember> members{{"group", measurement.group}};
    std::vector<JsonMember> time;
    add(time, times, results, measurement);
    add(members, subject, results, measurement);
    members.push_back({"time", time});
    add(members, bandwidths, results, measurement);
    return members;
}

JsonText curve_json(const EfficiencyCurve& curve) {
    const auto point_json = [](const auto& point) -> JsonText {
        return {{"nodes", point.nodes}, {"efficiency", point.efficiency}};
    };
    return {{"kind", words::word_of(words::efficiency_kinds, curve.kind)},
            {"subject", curve.subject},
            {"baseline_nodes", curve.baseline_nodes},
            {"points", JsonText::list(curve.points, point_json)}};
}

JsonText fit_json(const LatencyBandwidthFit& fit) {
    return {{"group", fit.group},
            {"collective", row_of(fit.collective).name},
            {"op", op_name(fit.collective, fit.op)},
            {"type", row_of(fit.type).name},
            {"alpha", fit.line.alpha},
            {"beta", fit.line.beta},
            {"residual", fit.line.residual}};
}

JsonText published_json(const ReferenceComparison& comparison) {
    return {{"gpu", comparison.figure->gpu},
            {"ranks", comparison.figure->ranks},
            {"bytes", comparison.bytes},
            {"busbw", comparison.busbw},
            {"text", reference_text(*comparison.figure)}};
}

JsonText slow_part_json(const SlowPart& part) {
    return {{"subject", part.name},
            {"kind", words::word_of(words::limiter_kinds, part.kind)},
            {"relative", part.relative},
            {"robust_z", part.robust_z},
            {"node", part.node}};
}

template <class Value, class ToJson>
JsonText json_or_null(const std::optional<Value>& value, ToJson&& json) {
    return value ? JsonText(json(*value)) : JsonText();
}

JsonText headline_json(const std::optional<Headline>& headline) {
    if (!headline) return {};
    const auto& expected = headline->expected;
    const bool is_ratio = headline->efficiency.has_value();
    return {{"measurement", headline->measurement},
            {"busbw", headline->busbw},
            {"efficiency", headline->efficiency},
            {"baseline_nodes", is_ratio ? JsonText(headline->baseline_nodes) : JsonText()},
            {"expected", expected ? JsonText(expected->busbw) : JsonText()},
            {"expected_of", expected ? JsonText(expected->source) : JsonText()}};
}

JsonText order_json(const OrderComparison::Order& order) {
    return {{"nodes", JsonText::list(order.nodes)},
            {"crossings", order.crossings},
            {"times", JsonText::list(order.times)}};
}

JsonText orders_json(const OrderComparison& orders) {
    const auto gain_json = [](const OrderGain& gain) -> JsonText {
        return {{"median", gain.median}, {"p25", gain.low}, {"p75", gain.high}};
    };
    return {{"collective", row_of(orders.collective).name},
            {"op", op_name(orders.collective, orders.op)},
            {"type", row_of(orders.type).name},
            {"in_place", orders.in_place},
            {"bytes", orders.bytes},
            {"name", order_json(orders.by_name)},
            {"switch", order_json(orders.by_switch)},
            {"gain", json_or_null(gain_of(orders), gain_json)}};
}

JsonText violation_json(const Violation& violation) {
    return {{"measurement", violation.measurement},
            {"busbw", violation.bandwidth},
            {"least", violation.threshold.bandwidth}};
}

JsonText threshold_json(const Threshold& threshold) {
    const auto name = [](auto value) { return row_of(value).name; };
    const auto kind = [](Group::Kind value) { return words::word_of(words::group_kinds, value); };
    const auto itself = [](bool value) { return value; };
    return {{"collective", row_of(threshold.collective).name},
            {"op", json_or_null(threshold.op, name)},
            {"type", json_or_null(threshold.type, name)},
            {"in_place", json_or_null(threshold.in_place, itself)},
            {"group", json_or_null(threshold.group, kind)},
            {"bytes", threshold.bytes},
            {"ranks", threshold.ranks},
            {"least", threshold.bandwidth}};
}

JsonText demand_json(const JudgedDemand& demand) {
    const bool is_baseline = demand.kind == JudgedDemand::Kind::baseline;
    return {{"kind", words::word_of(words::demand_kinds, demand.kind)},
            {"file", demand.file},
            {"tolerance", is_baseline ? JsonText(demand.tolerance) : JsonText()},
            {"differences", JsonText::list(demand.differences, difference_text)},
            {"passed", demand.comparison.passed},
            {"failed", JsonText::list(demand.comparison.violations, violation_json)},
            {"not_measured", JsonText::list(demand.comparison.waived, threshold_json)}};
}

JsonText judgement_json(const Judgement& judgement) {
    if (judgement.demands.empty()) return {};
    return {{"outcome", words::word_of(words::outcomes, outcome_of(judgement))},
            {"demands", JsonText::list(judgement.demands, demand_json)}};
}

std::string member(std::string_view name, const JsonText& value) {
    return formatted(",\n\"{}\": {}", name, value.line());
}

// `"name": [`, an item a line, `]`; `json(item)` makes one.
template <class Items, class ToJson>
std::string list(std::string_view name, const Items& items, ToJson&& json) {
    std::string text = formatted(",\n\"{}\": [", name);
    std::string_view separator = "\n";
    for (const auto& item : items) {
        text += separator;
        text += json(item).line();
        separator = ",\n";
    }
    return text + "]";
}

}  // namespace

std::string to_json(const ReportInput& input) {
    const Results& results = input.results;
    std::string text = "{\n\"schema\": \"distgpu.scaling/1\"";
    text += member("complete", is_complete(input));
    text += member("failure", failure_json(results.failure));
    text += member("backend", results.backend);
    text += member("note", json_text_or_null(words::note(results)));
    text += member("started", results.started);
    text += member("check", json_text_or_null(results.check));
    text += member("verdict", json_text_or_null(input.verdict));
    text += member("headline", headline_json(input.headline));
    text += member("limiters", JsonText::list(input.limiters));
    text += member("step", json_text_or_null(input.step));
    text += member("judgement", judgement_json(input.judgement));
    text += member("orders", json_or_null(results.orders, orders_json));
    text += member("fingerprint", fingerprint_json(results.fingerprint));
    text += member("environment", JsonText::list(results.environment, variable_json));
    text += list("nodes", results.nodes, node_json);
    text += list("groups", results.groups, group_json);
    text += list("measurements", results.measurements, [&](const Measurement& measurement) {
        return measurement_json(results, measurement);
    });
    text += list("efficiency", input.efficiency, curve_json);
    text += list("fits", input.fits, fit_json);
    text += list("findings", input.slow_parts, slow_part_json);
    text += list("published", compare_with_references(results), published_json);
    return text + "\n}\n";
}

}  // namespace distgpu::scaling
