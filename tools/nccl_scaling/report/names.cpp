#include "report/names.h"

#include "analysis/bus_bandwidth.h"
#include "base/format.h"
#include "report/units.h"

#include <algorithm>

namespace distgpu::scaling {
namespace {

const std::string& node_name(const Results& results, const Group& group, std::size_t i) {
    return results.nodes[group.nodes[i]].name;
}

// Empty: it has none.
std::string port_name(const Node& node, std::uint32_t local_rank) {
    return local_rank < node.rails.size() ? node.rails[local_rank] : "";
}

// Empty: the nodes do not agree on it, or do not know it.
std::string rail_port(const Results& results, std::uint32_t local_rank) {
    if (results.nodes.empty()) return "";
    const std::string first = port_name(results.nodes.front(), local_rank);
    const bool same =
        std::all_of(results.nodes.begin(), results.nodes.end(),
                    [&](const Node& node) { return port_name(node, local_rank) == first; });
    return same ? first : "";
}

std::string rail_number(std::uint32_t local_rank) {
    return formatted("rail {}", local_rank);
}

}  // namespace

std::string collective_name(Collective collective, Op op) {
    return formatted("{}{}", row_of(collective).name,
                     op == Op::sum ? "" : formatted(" {}", row_of(op).name));
}

std::string operation_name(const Subject& subject, bool any_type) {
    return formatted("{}{}, {}{}", collective_name(subject.collective, subject.op),
                     any_type ? "" : formatted(" {}", row_of(subject.type).name),
                     format_bytes(subject.bytes), subject.in_place ? ", in place" : "");
}

std::string measurement_name(const Results& results, const Measurement& measurement) {
    return formatted("{}, {}", operation_name(subject_of(measurement)),
                     group_label(results, results.groups[measurement.group]));
}

std::string group_label(const Results& results, const Group& group) {
    switch (group.kind) {
        case Group::Kind::gpus:
            return formatted("{} of {}",
                             counted(group.number, results.backend == "mpi" ? "rank" : "GPU"),
                             node_name(results, group, 0));
        case Group::Kind::nodes:
            return counted(group.number, "node");
        case Group::Kind::node:
            return node_name(results, group, 0);
        case Group::Kind::pair:
            return formatted("{} - {}", node_name(results, group, 0), node_name(results, group, 1));
        case Group::Kind::pair_rail:
            return formatted("{} - {}, {}", node_name(results, group, 0),
                             node_name(results, group, 1), rail_number(group.number));
        case Group::Kind::rail:
            break;
    }
    const std::string port = rail_port(results, group.number);
    return rail_number(group.number) + (port.empty() ? "" : formatted(" ({})", port));
}

std::string limiter_name(const Results& results, const Limiter& limiter) {
    const std::string now_and_then = limiter.intermittent ? " (intermittent)" : "";
    const auto node = [&]() -> const Node& { return results.nodes[limiter.node]; };
    switch (limiter.kind) {
        case Limiter::Kind::node:
            return node().name + now_and_then;
        case Limiter::Kind::node_rail: {
            const std::string port = port_name(node(), limiter.local_rank);
            return node().name + "/" + (port.empty() ? rail_number(limiter.local_rank) : port) +
                   now_and_then;
        }
        case Limiter::Kind::rail: {
            const std::string port = rail_port(results, limiter.local_rank);
            return port.empty() ? rail_number(limiter.local_rank) : "rail " + port;
        }
        case Limiter::Kind::leaf:
            return "leaf " + leaf_of(node()) + now_and_then;
        case Limiter::Kind::uplink:
            return "uplink of " + leaf_of(node()) + now_and_then;
        case Limiter::Kind::spine:
            return "spine";
        case Limiter::Kind::paths:
            break;
    }
    return "paths";
}

}  // namespace distgpu::scaling
