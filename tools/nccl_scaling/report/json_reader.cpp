// Reads distgpu.scaling/1. The file is distrusted: its numbers become indices. See report_json.h.
#include "analysis/bus_bandwidth.h"
#include "base/format.h"
#include "base/io/file_text.h"
#include "base/json_fields.h"
#include "report/report_json.h"
#include "report/words.h"
#include "results/results_json.h"

namespace distgpu::scaling {
namespace {

constexpr std::string_view schema = "distgpu.scaling/1";
constexpr std::string_view remedy = "give a file that nccl-scaling --json wrote";

Variable read_variable(const JsonFields& fields) {
    return {fields.text("name"), fields.text("value"), fields.optional_text("origin")};
}

Failure read_failure(const JsonFields& fields) {
    return {fields.text("phase"), fields.text("problem"), fields.texts("missing")};
}

Node read_node(const JsonFields& fields) {
    Node node;
    node.name = fields.text("name");
    node.ranks = fields.count<std::uint32_t>("ranks");
    node.gpus = fields.texts("gpus");
    node.rails = fields.texts("rails");
    node.switches = fields.optional_text("switches");
    if (fields.has("facts")) node.facts = fields.texts("facts");
    if (fields.has("rates")) node.rates = fields.objects("rates", read_rates);
    return node;
}

std::optional<Group::Kind> group_kind_named(std::string_view name) {
    return words::value_of(words::group_kinds, name);
}

// How many nodes a group of this kind has at least: its label names as many.
std::size_t fewest_nodes(Group::Kind kind) {
    return kind == Group::Kind::pair || kind == Group::Kind::pair_rail ? 2 : 1;
}

Group read_group(const JsonFields& fields, std::size_t node_count) {
    Group group;
    group.kind = fields.named("kind", group_kind_named);
    group.nodes = fields.indices("nodes", node_count);
    group.ranks = fields.count<std::uint32_t>("ranks");
    group.number = fields.count<std::uint32_t>("number");
    if (group.nodes.size() < fewest_nodes(group.kind)) fields.refuse("nodes", "too few");
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
    measurement.collective = fields.named("collective", collective_named);
    // Older files have none: only sums were measured.
    if (is_reduction(measurement.collective) && fields.has("op")) {
        measurement.op = fields.named("op", op_named);
    }
    measurement.type = fields.named("type", data_type_named);
    measurement.in_place = fields.flag("in_place");
    measurement.bytes = fields.count<std::uint64_t>("bytes");
    const auto time = fields.optional_object("time", read_time);
    if (!time) fields.refuse("time", "missing");
    measurement.time = time.value_or(Statistics{});
    return measurement;
}

OrderComparison::Order read_order(const JsonFields& fields, std::size_t node_count) {
    OrderComparison::Order order;
    order.nodes = fields.indices("nodes", node_count);
    order.crossings = fields.count<std::uint32_t>("crossings");
    for (const JsonValue& value : fields.list("times")) {
        const auto seconds = value.number();
        if (!seconds || *seconds <= 0) fields.refuse("times", "not all are above 0");
        order.times.push_back(seconds.value_or(0));
    }
    return order;
}

OrderComparison read_orders(const JsonFields& fields, std::size_t node_count) {
    const auto read = [&](const JsonFields& order) { return read_order(order, node_count); };
    OrderComparison orders;
    orders.by_name = fields.optional_object("name", read).value_or(OrderComparison::Order{});
    orders.by_switch = fields.optional_object("switch", read).value_or(OrderComparison::Order{});
    if (orders.by_name.times.size() != orders.by_switch.times.size()) {
        fields.refuse("switch", "has not as many times as the other order");
    }
    orders.collective = fields.named("collective", collective_named);
    if (is_reduction(orders.collective)) orders.op = fields.named("op", op_named);
    orders.type = fields.named("type", data_type_named);
    orders.in_place = fields.flag("in_place");
    orders.bytes = fields.count<std::uint64_t>("bytes");
    return orders;
}

Results read_fields(const JsonFields& fields) {
    Results results;
    if (fields.text("schema") != schema) {
        fields.refuse("schema", formatted("not \"{}\"", schema));
        return results;
    }
    results.backend = fields.text("backend");
    results.started = fields.text("started");
    results.check = fields.optional_text("check");
    results.fingerprint = read_fingerprint(fields);
    results.environment = fields.objects("environment", read_variable);
    results.nodes = fields.objects("nodes", read_node);
    results.groups = fields.objects(
        "groups", [&](const JsonFields& group) { return read_group(group, results.nodes.size()); });
    results.measurements = fields.objects("measurements", [&](const JsonFields& measurement) {
        return read_measurement(measurement, results.groups.size());
    });
    results.orders = fields.optional_object("orders", [&](const JsonFields& orders) {
        return read_orders(orders, results.nodes.size());
    });
    results.failure = fields.optional_object("failure", read_failure);
    return results;
}

}  // namespace

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
