// Writes and reads distgpu.scaling/1. Files are not trusted, because their numbers become indices.
#include "analysis/collectives.h"
#include "base/format.h"
#include "base/io/files.h"
#include "report/formats.h"
#include "report/names.h"

#include <algorithm>

namespace distgpu::scaling {
namespace {

constexpr std::string_view schema = "distgpu.scaling/1";
constexpr std::string_view remedy = "give a file that nccl-scaling --json wrote";

template <class Value, class ToJson>
JsonText json_or_null(const std::optional<Value>& value, ToJson&& json) {
    return value ? JsonText(json(*value)) : JsonText();
}

JsonText failure_json(const Failure& failure) {
    return {{"phase", failure.phase},
            {"problem", failure.problem},
            {"missing", JsonText::list(failure.missing)}};
}

JsonText node_json(const Node& node) {
    return {{"name", node.name},
            {"ranks", node.ranks},
            {"gpus", JsonText::list(node.gpus)},
            {"rails", JsonText::list(node.rails)},
            {"switches", node.switches},
            {"fault", json_text_or_null(node.fault)}};
}

JsonText group_json(const Results& results, const Group& group) {
    return {{"kind", json_name(group.kind)},
            {"label", group_label(results, group)},
            {"nodes", JsonText::list(group.nodes)},
            {"ranks", group.ranks},
            {"number", group.number}};
}

JsonText measurement_json(const Results& results, const Measurement& measurement) {
    const auto& [group, operation, time] = measurement;
    return {{"group", group},
            {"collective", info_of(operation.collective).name},
            {"type", info_of(operation.type).name},
            {"in_place", operation.in_place},
            {"bytes", operation.bytes},
            {"time", JsonText{{"median", time.median},
                              {"mean", time.mean},
                              {"min", time.min},
                              {"p5", time.p5},
                              {"p95", time.p95},
                              {"p99", time.p99},
                              {"cv", time.cv},
                              {"iterations", time.iterations}}},
            {"algbw", algorithm_bandwidth(measurement)},
            {"busbw", bus_bandwidth(results, measurement)}};
}

JsonText curve_json(const EfficiencyCurve& curve) {
    const auto point_json = [](const auto& point) -> JsonText {
        return {{"nodes", point.nodes}, {"efficiency", point.efficiency}};
    };
    return {{"kind", "communication"},
            {"subject", operation_name(curve.operation)},
            {"baseline_nodes", curve.baseline_nodes},
            {"points", JsonText::list(curve.points, point_json)}};
}

JsonText slow_part_json(const SlowPart& part) {
    return {{"subject", part.name},
            {"kind", json_name(part.kind)},
            {"relative", part.relative_rate},
            {"robust_z", part.robust_z},
            {"node", part.node}};
}

JsonText headline_json(const Headline& headline) {
    const auto& expected = headline.expected;
    const bool has_baseline = headline.efficiency.has_value();
    return {{"measurement", headline.measurement},
            {"busbw", headline.busbw},
            {"efficiency", headline.efficiency},
            {"baseline_nodes", has_baseline ? JsonText(headline.baseline_nodes) : JsonText()},
            {"expected", expected ? JsonText(expected->busbw) : JsonText()},
            {"expected_of", expected ? JsonText(expected->source) : JsonText()}};
}

JsonText comparison_json(const Comparison& comparison) {
    const ExitCode code = comparison.exit_code();
    const char* const passed_or_skipped = code == ExitCode::done ? "passed" : "skipped";
    const auto failed_json = [&](const Change& change) -> JsonText {
        return {{"measurement", change.measurement},
                {"busbw", change.after},
                {"least", (1 - comparison.tolerance) * change.before}};
    };
    return {{"outcome", code == ExitCode::check_failed ? "failed" : passed_or_skipped},
            {"file", comparison.file},
            {"tolerance", comparison.tolerance},
            {"differences", JsonText::list(comparison.differences)},
            {"passed", comparison.passed_count()},
            {"failed", JsonText::list(comparison.failed, failed_json)},
            {"not_measured", JsonText::list(comparison.unmeasured)}};
}

std::string json_member(std::string_view name, const JsonText& value) {
    return formatted(",\n\"{}\": {}", name, value.line());
}

// `"name": [`, one line per item from `json(item)`, `]`.
template <class Items, class ToJson>
std::string json_list(std::string_view name, const Items& items, ToJson&& json) {
    std::string text = formatted(",\n\"{}\": [", name);
    std::string_view separator = "\n";
    for (const auto& item : items) {
        text += separator;
        text += json(item).line();
        separator = ",\n";
    }
    return text + "]";
}

Failure read_failure(const JsonFields& fields) {
    return {fields.text("phase"), fields.text("problem"), fields.texts("missing")};
}

Node read_node(const JsonFields& fields) {
    return {
        fields.text("name"),   fields.count<std::uint32_t>("ranks"), fields.texts("gpus"),
        fields.texts("rails"), fields.optional_text("switches"),     fields.optional_text("fault")};
}

std::optional<Group::Kind> group_kind_named(std::string_view name) {
    const auto* const found = std::ranges::find(group_kind_names, name);
    if (found == group_kind_names.end()) return std::nullopt;
    return static_cast<Group::Kind>(found - group_kind_names.begin());
}

Group read_group(const JsonFields& fields, std::size_t node_count) {
    Group group;
    group.kind = fields.parsed("kind", group_kind_named);
    group.nodes = fields.indices("nodes", node_count);
    group.ranks = fields.count<std::uint32_t>("ranks");
    group.number = fields.count<std::uint32_t>("number");
    const bool is_pair = group.kind == Group::Kind::pair || group.kind == Group::Kind::pair_rail;
    if (group.nodes.size() < (is_pair ? 2 : 1)) fields.refuse("nodes", "too few");
    return group;
}

Statistics read_time(const JsonFields& fields) {
    return {fields.number("median"),
            fields.number("min"),
            fields.number("p5"),
            fields.number("p95"),
            fields.number("p99"),
            fields.number("cv"),
            fields.count<std::uint32_t>("iterations"),
            fields.has("mean") ? fields.number("mean") : 0};
}

Measurement read_measurement(const JsonFields& fields, std::size_t group_count) {
    Measurement measurement;
    measurement.group = fields.index("group", group_count);
    measurement.operation = {fields.parsed("collective", collective_named),
                             fields.parsed("type", data_type_named), fields.flag("in_place"),
                             fields.count<std::uint64_t>("bytes")};
    const auto time = fields.optional_object("time", read_time);
    if (!time) fields.refuse("time", "missing");
    measurement.time = time.value_or(Statistics{});
    return measurement;
}

Results read_fields(const JsonFields& fields) {
    Results results;
    if (fields.text("schema") != schema) {
        fields.refuse("schema", formatted("not \"{}\"", schema));
        return results;
    }
    results.backend = fields.text("backend");
    results.started = fields.text("started");
    results.checked = fields.optional_text("check") != "off";
    results.fingerprint = read_values(fields, "fingerprint");
    results.environment = read_values(fields, "environment");
    results.nodes = fields.objects("nodes", read_node);
    results.groups = fields.objects(
        "groups", [&](const JsonFields& group) { return read_group(group, results.nodes.size()); });
    results.measurements = fields.objects("measurements", [&](const JsonFields& measurement) {
        return read_measurement(measurement, results.groups.size());
    });
    results.failure = fields.optional_object("failure", read_failure);
    return results;
}

}  // namespace

JsonText values_json(const NamedValues& values) {
    return JsonText::list(values, [](const auto& pair) -> JsonText {
        return {{"name", pair.first}, {"value", pair.second}};
    });
}

NamedValues read_values(const JsonFields& fields, const char* field) {
    return fields.objects(field, [](const JsonFields& pair) {
        return std::pair(pair.text("name"), pair.text("value"));
    });
}

std::string to_json(const Report& report) {
    const Results& results = report.results;
    std::string text = formatted("{{\n\"schema\": \"{}\"", schema);
    text += json_member("complete", is_complete(report));
    text += json_member("failure", json_or_null(results.failure, failure_json));
    text += json_member("backend", results.backend);
    text += json_member("note", json_text_or_null(backend_note(results)));
    text += json_member("started", results.started);
    text += json_member("check", results.checked ? JsonText() : JsonText("off"));
    text += json_member("verdict", json_text_or_null(report.verdict));
    text += json_member("headline", json_or_null(report.headline, headline_json));
    text += json_member("limiters", JsonText::list(report.limiters));
    text += json_member("judgement", json_or_null(report.comparison, comparison_json));
    text += json_member("fingerprint", values_json(results.fingerprint));
    text += json_member("environment", values_json(results.environment));
    text += json_list("nodes", results.nodes, node_json);
    text += json_list("groups", results.groups,
                      [&](const Group& group) { return group_json(results, group); });
    text += json_list("measurements", results.measurements, [&](const Measurement& measurement) {
        return measurement_json(results, measurement);
    });
    text += json_list("efficiency", report.efficiency, curve_json);
    text += json_list("findings", report.slow_parts, slow_part_json);
    return text + "\n}\n";
}

Result<Results> results_from_json(std::string_view text, const std::string& name) {
    Results results;
    const auto problem =
        read_json(text, [&](const JsonFields& fields) { results = read_fields(fields); });
    if (problem) return Error{name, problem->message(), std::string(remedy)};
    return results;
}

Result<Results> read_results(const std::string& path) {
    return read_file(path, std::string(remedy)).and_then([&](const std::string& text) {
        return results_from_json(text, path);
    });
}

}  // namespace distgpu::scaling
