#include "slurm/rank_order.h"

#include "base/excerpt.h"
#include "base/format.h"
#include "base/io/file_text.h"
#include "base/take_until.h"
#include "mapping/layout/node_order.h"
#include "mapping/layout/switches.h"
#include "slurm/slurm_command.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

std::string key_of(const RankOrder& order) {
    return formatted("order={}", excerpt(to_string(order)));
}

// The lines of a file as one list.
std::string without_comments(std::string_view text) {
    std::string list;
    while (!text.empty()) {
        const std::string_view line = take_until(text, '\n');
        if (!line.starts_with('#')) list.append(line).push_back(',');
    }
    std::erase(list, '\r');
    return list;
}

Result<std::string> read_text(const RankOrder& order, const Environment& environment) {
    if (order.source == RankOrder::Source::file) {
        auto text = read_regular_file(order.text);
        if (text) return without_comments(*text);
        return Error{key_of(order), text.error().problem,
                     "give a file with a node or a range of nodes a line"};
    }
    auto value = environment.get(order.text);
    if (value) return *std::move(value);
    return Error{key_of(order), "the variable is not set",
                 formatted("export {} with a list of the step's nodes", order.text)};
}

// The ring by switches beside that of the node list.
std::string crossings_text(const std::vector<SwitchPath>& paths,
                           const std::vector<NodeIndex>& order) {
    std::vector<NodeIndex> by_name;
    for (std::uint32_t i = 0; i < order.size(); ++i) by_name.push_back(NodeIndex{i});
    return formatted("order: switch, ring crosses switches {} (by name: {})",
                     counted(ring_crossings(paths, order), "time"), ring_crossings(paths, by_name));
}

struct Order {
    std::vector<NodeIndex> nodes;
    std::string text;
};

Result<Order> order_of_switches(const RankOrder& order, const HostList& nodes,
                                const Environment& environment) {
    constexpr std::chrono::seconds time_limit{5};
    constexpr const char* remedy = "name the nodes in a file (order=./FILE), or leave order out";
    std::vector<SwitchPath> paths(nodes.size());
    if (nodes.size() > 1) {
        const auto topology =
            run_slurm_command(environment, {"scontrol", "show", "topology"}, time_limit);
        if (!topology) {
            return Error{key_of(order),
                         formatted("scontrol show topology: {}", topology.error().problem), remedy};
        }
        paths = switches_above(nodes, read_switches(*topology));
        if (std::all_of(paths.begin(), paths.end(),
                        [](const auto& path) { return path.empty(); })) {
            return Error{key_of(order), "Slurm knows no switches above the step's nodes", remedy};
        }
    }
    Order result{order_by_switch(paths), ""};
    result.text = crossings_text(paths, result.nodes);
    return result;
}

Result<Order> find_order(const RankOrder& order, const HostList& list, const HostList& nodes,
                         const Environment& environment) {
    if (order.source == RankOrder::Source::switches) {
        return order_of_switches(order, nodes, environment);
    }
    return order_of(key_of(order), nodes, list).transform([&](std::vector<NodeIndex> found) {
        return Order{std::move(found), formatted("order: {}", excerpt(to_string(order)))};
    });
}

}  // namespace

Result<HostList> read_order_list(const RankOrder& order, const Environment& environment) {
    using Source = RankOrder::Source;
    if (order.source != Source::file && order.source != Source::variable) return HostList{};
    return read_text(order, environment).and_then([&](const std::string& text) {
        auto list = HostList::parse(text);
        if (list) return list;
        const Error& error = list.error();
        return Result<HostList>(
            Error{key_of(order), formatted("{}: {}", error.object, error.problem), error.remedy});
    });
}

Result<OrderedLayout> put_in_order(const RankOrder& order, const HostList& list,
                                   const StepLayout& layout, const Environment& environment) {
    auto found = find_order(order, list, layout.hosts(), environment);
    if (!found) return found.error();
    auto ordered = layout.with_order(std::move(found->nodes));
    if (ordered) return OrderedLayout{*std::move(ordered), std::move(found->text)};
    const Error& error = ordered.error();
    return Error{key_of(order), error.problem, error.remedy};
}

}  // namespace distgpu
