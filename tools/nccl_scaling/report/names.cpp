#include "report/names.h"

#include "analysis/collectives.h"
#include "base/format.h"

#include <algorithm>
#include <array>

namespace distgpu::scaling {
namespace {

// Empty if unknown.
std::string port_name(const Node& node, std::uint32_t local_rank) {
    return local_rank < node.rails.size() ? node.rails[local_rank] : "";
}

// Empty if the nodes have different names for it, or none.
std::string rail_port(const Results& results, std::uint32_t local_rank) {
    if (results.nodes.empty()) return "";
    const std::string first = port_name(results.nodes.front(), local_rank);
    const bool is_same = std::ranges::all_of(
        results.nodes, [&](const Node& node) { return port_name(node, local_rank) == first; });
    return is_same ? first : "";
}

std::string rail_number(std::uint32_t local_rank) {
    return formatted("rail {}", local_rank);
}

// Removes trailing zeros, and then a trailing point.
std::string trimmed(std::string number) {
    if (number.find('.') == std::string::npos) return number;
    number.erase(number.find_last_not_of('0') + 1);
    if (number.back() == '.') number.pop_back();
    return number;
}

}  // namespace

std::string format_bytes(std::uint64_t bytes) {
    constexpr std::array<std::string_view, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (value >= 1024 && unit + 1 < units.size()) {
        value /= 1024;
        ++unit;
    }
    return formatted("{} {}", trimmed(formatted("{:.2f}", value)), units[unit]);
}

std::string format_bandwidth(std::optional<double> bytes_per_second) {
    return bytes_per_second ? formatted("{:.2f}", *bytes_per_second / 1e9) : "n/a";
}

std::string format_percent(double fraction) {
    return formatted("{:.1f} %", fraction * 100);
}

std::string operation_name(const Operation& operation) {
    return formatted("{} {}, {}{}", info_of(operation.collective).name,
                     info_of(operation.type).name, format_bytes(operation.bytes),
                     operation.in_place ? ", in place" : "");
}

std::string measurement_name(const Results& results, const Measurement& measurement) {
    return formatted("{}, {}", operation_name(measurement.operation),
                     group_label(results, results.groups[measurement.group]));
}

std::string group_label(const Results& results, const Group& group) {
    const auto node = [&](std::size_t i) { return results.nodes[group.nodes[i]].name; };
    switch (group.kind) {
        case Group::Kind::gpus:
            return counted(group.number, results.backend == "mpi" ? "rank" : "GPU") + " of " +
                   node(0);
        case Group::Kind::nodes:
            return counted(group.number, "node");
        case Group::Kind::node:
            return node(0);
        case Group::Kind::pair:
            return node(0) + " - " + node(1);
        case Group::Kind::pair_rail:
            return node(0) + " - " + node(1) + ", " + rail_number(group.number);
        case Group::Kind::rail:
            break;
    }
    const std::string port = rail_port(results, group.number);
    return rail_number(group.number) + (port.empty() ? "" : formatted(" ({})", port));
}

std::string limiter_name(const Results& results, const Limiter& limiter) {
    const std::string suffix = limiter.is_intermittent ? " (intermittent)" : "";
    const auto node = [&]() -> const Node& { return results.nodes[limiter.node]; };
    switch (limiter.kind) {
        case Limiter::Kind::node:
            return node().name + suffix;
        case Limiter::Kind::node_rail: {
            const std::string port = port_name(node(), limiter.local_rank);
            return node().name + "/" + (port.empty() ? rail_number(limiter.local_rank) : port) +
                   suffix;
        }
        case Limiter::Kind::rail: {
            const std::string port = rail_port(results, limiter.local_rank);
            return port.empty() ? rail_number(limiter.local_rank) : "rail " + port;
        }
        case Limiter::Kind::leaf:
            return "leaf " + leaf_of(node()) + suffix;
        case Limiter::Kind::uplink:
            return "uplink of " + leaf_of(node()) + suffix;
        case Limiter::Kind::spine:
            return "spine";
        case Limiter::Kind::paths:
            break;
    }
    return "paths";
}

}  // namespace distgpu::scaling
