#include "mapping/layout/switches.h"

#include "base/take_until.h"
#include "base/values.h"
#include "mapping/layout/node_order.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

namespace distgpu {
namespace {

// Of the word KEY=VALUE in a line; empty: it has none.
std::string_view value_of(std::string_view line, std::string_view key) {
    while (!line.empty()) {
        std::string_view value = take_until(line, ' ');
        if (take_until(value, '=') == key) return value;
    }
    return "";
}

// Nothing: no switch, or one of more nodes than `most`.
std::optional<Switch> read_switch(std::string_view line, std::uint64_t most) {
    HostList name;
    if (value_of(line, "AggregatedBlock").empty()) {
        const std::string_view block = value_of(line, "BlockName");
        const std::string_view own = block.empty() ? value_of(line, "SwitchName") : block;
        if (own.empty()) return std::nullopt;
        if (auto read = HostList::parse(own, 1)) name = *std::move(read);
    }
    auto nodes = HostList::parse(value_of(line, "Nodes"), most);
    if (!nodes) return std::nullopt;
    const auto level = whole_number(value_of(line, "Level"));
    return Switch{std::move(name), level.value_or(0), *std::move(nodes)};
}

// The indices of the switches, the top first. Blocks have no level, but their sizes tell.
std::vector<std::uint32_t> from_the_top(const std::vector<Switch>& switches) {
    std::vector<std::uint32_t> indices(switches.size());
    std::iota(indices.begin(), indices.end(), 0U);
    std::stable_sort(indices.begin(), indices.end(), [&](std::uint32_t a, std::uint32_t b) {
        return std::pair(switches[a].level, switches[a].nodes.size()) >
               std::pair(switches[b].level, switches[b].nodes.size());
    });
    return indices;
}

}  // namespace

std::vector<Switch> read_switches(std::string_view topology) {
    std::uint64_t left = std::uint64_t{1} << 17U;
    std::vector<Switch> switches;
    while (!topology.empty()) {
        auto one = read_switch(take_until(topology, '\n'), left);
        if (!one) continue;
        left -= one->nodes.size();
        switches.push_back(*std::move(one));
    }
    return switches;
}

std::vector<SwitchPath> switches_above(const HostList& nodes, const std::vector<Switch>& switches) {
    const auto nodes_by_name = by_name(nodes);
    std::vector<SwitchPath> paths(nodes.size());
    for (const std::uint32_t index : from_the_top(switches)) {
        const HostList& below = switches[index].nodes;
        for (std::uint32_t i = 0; i < below.size(); ++i) {
            const auto found = nodes_by_name.find(below.name(NodeIndex{i}));
            if (found != nodes_by_name.end()) paths[found->second.value].push_back(index);
        }
    }
    return paths;
}

std::vector<NodeIndex> order_by_switch(const std::vector<SwitchPath>& paths) {
    // For each beginning of a path the first node there is.
    std::map<SwitchPath, std::uint32_t> first;
    std::vector<std::vector<std::uint32_t>> keys(paths.size());
    std::vector<NodeIndex> order;
    for (std::uint32_t node = 0; node < paths.size(); ++node) {
        SwitchPath beginning;
        for (const std::uint32_t one : paths[node]) {
            beginning.push_back(one);
            keys[node].push_back(first.try_emplace(beginning, node).first->second);
        }
        keys[node].push_back(node);
        order.push_back(NodeIndex{node});
    }
    std::sort(order.begin(), order.end(),
              [&](NodeIndex a, NodeIndex b) { return keys[a.value] < keys[b.value]; });
    return order;
}

std::uint32_t ring_crossings(const std::vector<SwitchPath>& paths,
                             std::span<const NodeIndex> order) {
    const auto own_switch = [&](std::size_t i) {
        const SwitchPath& path = paths[order[i % order.size()].value];
        return path.empty() ? std::nullopt : std::optional(path.back());
    };
    std::uint32_t crossings = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (own_switch(i) != own_switch(i + 1)) ++crossings;
    }
    return crossings;
}

}  // namespace distgpu
