// Writes distgpu.scaling/1. See report_json.h.
#include "analysis/bus_bandwidth.h"
#include "base/format.h"
#include "report/columns.h"
#include "report/report_json.h"
#include "report/words.h"

#include <nlohmann/json.hpp>

#include <array>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace distgpu::scaling {
namespace {

using Json = nlohmann::ordered_json;
using Pairs = std::vector<std::pair<std::string, std::string>>;

std::string line(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json text_or_null(std::string_view text) {
    return text.empty() ? Json() : Json(text);
}

Json number_or_null(const std::optional<double>& number) {
    return number ? Json(*number) : Json();
}

struct JsonOf {
    Json operator()(const std::optional<double>& number) const { return number_or_null(number); }

    template <class Value>
    Json operator()(const Value& value) const {
        return value;
    }
};

// Pairs, not an object: their order is part of the results.
Json pairs_json(const Pairs& pairs) {
    Json json = Json::array();
    for (const auto& [name, value] : pairs) json.push_back({{"name", name}, {"value", value}});
    return json;
}

Json environment_json(const std::vector<Variable>& environment) {
    Json json = Json::array();
    for (const auto& [name, value, origin] : environment) {
        json.push_back({{"name", name}, {"value", value}, {"origin", text_or_null(origin)}});
    }
    return json;
}

Json failure_json(const std::optional<Failure>& failure) {
    if (!failure) return {};
    return {
        {"phase", failure->phase}, {"problem", failure->problem}, {"missing", failure->missing}};
}

Json overlap_json(const std::optional<Overlap>& overlap) {
    if (!overlap) return {};
    return {{"compute_slowdown", overlap->compute_slowdown},
            {"communication_slowdown", overlap->communication_slowdown}};
}

Json node_json(const Node& node) {
    return {{"name", node.name}, {"ranks", node.ranks}, {"gpus", node.gpus}, {"rails", node.rails}};
}

Json group_json(const Group& group) {
    return {{"kind", words::word_of(words::group_kinds, group.kind)},
            {"nodes", group.nodes},
            {"ranks", group.ranks},
            {"number", group.number}};
}

// Members of a measurement.
template <std::size_t size>
void add(Json& json, const std::array<Column, size>& columns, const Results& results,
         const Measurement& measurement) {
    for (const Column column : columns) {
        const ColumnRow& row = row_of(column);
        json[std::string(row.json)] = std::visit(JsonOf{}, row.value(results, measurement));
    }
}

Json measurement_json(const Results& results, const Measurement& measurement) {
    constexpr std::array subject{Column::collective, Column::type, Column::in_place, Column::bytes};
    constexpr std::array times{Column::median, Column::min, Column::p5,        Column::p95,
                               Column::p99,    Column::cv,  Column::iterations};
    constexpr std::array bandwidths{Column::algbw, Column::busbw};
    Json json;
    json["group"] = measurement.group;
    add(json, subject, results, measurement);
    add(json["time"], times, results, measurement);
    add(json, bandwidths, results, measurement);
    return json;
}

Json curve_json(const EfficiencyCurve& curve) {
    Json points = Json::array();
    for (const auto& [nodes, efficiency] : curve.points) {
        points.push_back({{"nodes", nodes}, {"efficiency", efficiency}});
    }
    return {{"kind", words::word_of(words::efficiency_kinds, curve.kind)},
            {"subject", curve.subject},
            {"baseline_nodes", curve.baseline_nodes},
            {"points", std::move(points)}};
}

Json fit_json(const LatencyBandwidthFit& fit) {
    return {{"group", fit.group},
            {"collective", row_of(fit.collective).name},
            {"type", row_of(fit.type).name},
            {"alpha", fit.line.alpha},
            {"beta", fit.line.beta},
            {"residual", fit.line.residual}};
}

Json slow_part_json(const SlowPart& part) {
    return {{"subject", part.name},
            {"kind", words::word_of(words::slow_part_kinds, part.kind)},
            {"relative", part.relative},
            {"robust_z", number_or_null(part.robust_z)}};
}

template <class Value, class ToJson>
Json json_or_null(const std::optional<Value>& value, ToJson&& json) {
    return value ? Json(json(*value)) : Json();
}

Json violation_json(const Violation& violation) {
    return {{"measurement", violation.measurement},
            {"busbw", violation.bandwidth},
            {"least", violation.threshold.bandwidth}};
}

Json threshold_json(const Threshold& threshold) {
    const auto type = [](DataType value) { return row_of(value).name; };
    const auto kind = [](Group::Kind value) { return words::word_of(words::group_kinds, value); };
    const auto itself = [](bool value) { return value; };
    return {{"collective", row_of(threshold.collective).name},
            {"type", json_or_null(threshold.type, type)},
            {"in_place", json_or_null(threshold.in_place, itself)},
            {"group", json_or_null(threshold.group, kind)},
            {"bytes", threshold.bytes},
            {"ranks", threshold.ranks},
            {"least", threshold.bandwidth}};
}

template <class Items, class ToJson>
Json array_json(const Items& items, ToJson&& json) {
    Json array = Json::array();
    for (const auto& item : items) array.push_back(json(item));
    return array;
}

Json demand_json(const JudgedDemand& demand) {
    const bool is_baseline = demand.kind == JudgedDemand::Kind::baseline;
    return {{"kind", words::word_of(words::demand_kinds, demand.kind)},
            {"file", demand.file},
            {"tolerance", is_baseline ? Json(demand.tolerance) : Json()},
            {"passed", demand.comparison.passed},
            {"failed", array_json(demand.comparison.violations, violation_json)},
            {"not_measured", array_json(demand.comparison.waived, threshold_json)}};
}

Json judgement_json(const Judgement& judgement) {
    if (judgement.demands.empty()) return {};
    return {{"outcome", words::word_of(words::outcomes, outcome_of(judgement))},
            {"demands", array_json(judgement.demands, demand_json)}};
}

std::string member(std::string_view name, const Json& value) {
    return formatted(",\n\"{}\": {}", name, line(value));
}

// `"name": [`, an item a line, `]`; `json(item)` makes one.
template <class Items, class ToJson>
std::string list(std::string_view name, const Items& items, ToJson&& json) {
    std::string text = formatted(",\n\"{}\": [", name);
    std::string_view separator = "\n";
    for (const auto& item : items) {
        text += separator;
        text += line(json(item));
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
    text += member("note", text_or_null(words::note(results)));
    text += member("started", results.started);
    text += member("verdict", text_or_null(input.verdict));
    text += member("judgement", judgement_json(input.judgement));
    text += member("fingerprint", pairs_json(results.fingerprint));
    text += member("environment", environment_json(results.environment));
    text += list("nodes", results.nodes, node_json);
    text += list("groups", results.groups, group_json);
    text += list("measurements", results.measurements, [&](const Measurement& measurement) {
        return measurement_json(results, measurement);
    });
    text += member("overlap", overlap_json(results.overlap));
    text += list("efficiency", input.efficiency, curve_json);
    text += list("fits", input.fits, fit_json);
    text += list("findings", input.slow_parts, slow_part_json);
    return text + "\n}\n";
}

}  // namespace distgpu::scaling
