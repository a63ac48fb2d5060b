// See group_label.h.
#include "report/group_label.h"

#include "base/format.h"
#include "report/units.h"

#include <algorithm>

namespace distgpu::scaling {
namespace {

const std::string& node_name(const Results& results, const Group& group, std::size_t i) {
    return results.nodes[group.nodes[i]].name;
}

// Empty: the nodes do not agree on it, or do not know it.
std::string rail_port(const Results& results, std::uint32_t rail) {
    const auto port = [&](const Node& node) {
        return rail < node.rails.size() ? node.rails[rail] : std::string();
    };
    if (results.nodes.empty()) return "";
    const std::string first = port(results.nodes.front());
    const bool same = std::all_of(results.nodes.begin(), results.nodes.end(),
                                  [&](const Node& node) { return port(node) == first; });
    return same ? first : "";
}

std::string rail_label(const Results& results, std::uint32_t rail) {
    const std::string port = rail_port(results, rail);
    return port.empty() ? formatted("rail {}", rail) : formatted("rail {} ({})", rail, port);
}

}  // namespace

std::string group_label(const Results& results, const Group& group) {
    switch (group.kind) {
        case Group::Kind::gpus:
            return formatted("{} of {}",
                             counted(group.number, results.backend == "mpi" ? "rank" : "GPU"),
                             node_name(results, group, 0));
        case Group::Kind::nodes:
            return counted(group.number, "node");
        case Group::Kind::pair:
            return formatted("{} - {}", node_name(results, group, 0), node_name(results, group, 1));
        case Group::Kind::without:
            return "without " + results.nodes[group.number].name;
        case Group::Kind::rail:
            break;
    }
    return rail_label(results, group.number);
}

bool is_scaling_group(const Group& group) {
    return group.kind == Group::Kind::gpus || group.kind == Group::Kind::nodes;
}

}  // namespace distgpu::scaling
