#include "mapping/layout/node_order.h"

#include "base/format.h"
#include "base/values.h"

#include <map>
#include <numeric>

namespace distgpu {

std::unordered_map<std::string, NodeIndex> index_by_name(const HostList& nodes) {
    std::unordered_map<std::string, NodeIndex> found;
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
        found.emplace(nodes.name(NodeIndex{i}), NodeIndex{i});
    }
    return found;
}

Result<std::vector<NodeIndex>> order_from_list(std::string_view source, const HostList& nodes,
                                               const HostList& list) {
    const auto refuse = [&](std::string problem) {
        return Error{std::string(source), std::move(problem),
                     formatted("name each node of the step once: {}", nodes.to_string())};
    };
    const auto nodes_by_name = index_by_name(nodes);
    std::vector<NodeIndex> order;
    std::vector<bool> named(nodes.size());
    for (std::uint32_t i = 0; i < list.size(); ++i) {
        const std::string name = list.name(NodeIndex{i});
        const auto found = nodes_by_name.find(name);
        if (found == nodes_by_name.end()) {
            return refuse(formatted("names {}, which is not a node of the step", name));
        }
        const NodeIndex node = found->second;
        if (named[node.value]) return refuse(formatted("names {} twice", name));
        named[node.value] = true;
        order.push_back(node);
    }
    const auto missing = std::find(named.begin(), named.end(), false);
    if (missing == named.end()) return order;
    const NodeIndex node{static_cast<std::uint32_t>(missing - named.begin())};
    return refuse(formatted("does not name {}", nodes.name(node)));
}

std::string order_text(const StepLayout& layout) {
    std::vector<std::string> names;
    for (const NodeIndex node : layout.order()) names.push_back(layout.hosts().name(node));
    return HostList::from_names(names).to_string();
}

Result<StepLayout> with_node_order(const StepLayout& layout, std::string_view text) {
    constexpr std::uint64_t limit = std::uint64_t{1} << 17U;  // twice as many as Slurm can have
    return HostList::parse(text, std::min<std::uint64_t>(layout.node_count(), limit))
        .and_then(
            [&](const HostList& list) { return order_from_list("order", layout.hosts(), list); })
        .and_then(
            [&](std::vector<NodeIndex> order) { return layout.with_order(std::move(order)); });
}

namespace {

// nullopt if the line is not a switch, or the switch has more than `max_nodes` nodes.
std::optional<Switch> read_switch(std::string_view line, std::uint64_t max_nodes) {
    HostList name;
    if (value_in(line, "AggregatedBlock").empty()) {
        const std::string_view block = value_in(line, "BlockName");
        const std::string_view own = block.empty() ? value_in(line, "SwitchName") : block;
        if (own.empty()) return std::nullopt;
        if (auto read = HostList::parse(own, 1)) name = *std::move(read);
    }
    auto nodes = HostList::parse(value_in(line, "Nodes"), max_nodes);
    if (!nodes) return std::nullopt;
    const auto level = whole_number(value_in(line, "Level"));
    return Switch{std::move(name), level.value_or(0), *std::move(nodes)};
}

}  // namespace

std::vector<Switch> read_switches(std::string_view topology) {
    std::uint64_t nodes_left = std::uint64_t{1} << 17U;
    std::vector<Switch> switches;
    while (!topology.empty()) {
        auto found = read_switch(cut_until(topology, '\n'), nodes_left);
        if (!found) continue;
        nodes_left -= found->nodes.size();
        switches.push_back(*std::move(found));
    }
    return switches;
}

std::vector<SwitchPath> switches_above(const HostList& nodes, const std::vector<Switch>& switches) {
    const auto nodes_by_name = index_by_name(nodes);
    std::vector<SwitchPath> paths(nodes.size());
    // From the top down. Blocks have no level and are sorted by size.
    std::vector<std::uint32_t> indices(switches.size());
    std::iota(indices.begin(), indices.end(), 0U);
    std::stable_sort(indices.begin(), indices.end(), [&](std::uint32_t a, std::uint32_t b) {
        return std::pair(switches[a].level, switches[a].nodes.size()) >
               std::pair(switches[b].level, switches[b].nodes.size());
    });
    for (const std::uint32_t index : indices) {
        const HostList& below = switches[index].nodes;
        for (std::uint32_t i = 0; i < below.size(); ++i) {
            const auto found = nodes_by_name.find(below.name(NodeIndex{i}));
            if (found != nodes_by_name.end()) paths[found->second.value].push_back(index);
        }
    }
    return paths;
}

std::vector<NodeIndex> order_by_switch(const std::vector<SwitchPath>& paths) {
    // The first node below each switch, which is identified by the path to it.
    std::map<SwitchPath, std::uint32_t> first;
    std::vector<std::vector<std::uint32_t>> keys(paths.size());
    std::vector<NodeIndex> order;
    for (std::uint32_t node = 0; node < paths.size(); ++node) {
        SwitchPath prefix;
        for (const std::uint32_t index : paths[node]) {
            prefix.push_back(index);
            keys[node].push_back(first.try_emplace(prefix, node).first->second);
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
