#include "slurm/rank_order.h"

#include "base/format.h"
#include "base/io/files.h"
#include "base/values.h"
#include "mapping/layout/node_order.h"
#include "slurm/slurm_queries.h"

#include <algorithm>

namespace distgpu {
namespace {

std::string key_of(const RankOrder& order) {
    return formatted("order={}", excerpt(to_string(order)));
}

// The lines of a file as one comma-separated list.
std::string without_comments(std::string_view text) {
    std::string list;
    while (!text.empty()) {
        const std::string_view line = cut_until(text, '\n');
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
                     "give a file with one node or range of nodes per line"};
    }
    auto value = environment.get(order.text);
    if (value) return *std::move(value);
    return Error{key_of(order), "the variable is not set",
                 formatted("export {} with a list of the step's nodes", order.text)};
}

struct Order {
    std::vector<NodeIndex> nodes;
    std::string text;
};

Result<Order> find_switch_order(const RankOrder& order, const HostList& nodes,
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
        if (std::ranges::all_of(paths, [](const auto& path) { return path.empty(); })) {
            return Error{key_of(order), "Slurm knows no switches above the step's nodes", remedy};
        }
    }
    const auto ordered = order_by_switch(paths);
    std::vector<NodeIndex> by_name;
    for (std::uint32_t i = 0; i < ordered.size(); ++i) by_name.push_back(NodeIndex{i});
    return Order{ordered, formatted("order: switch, ring crosses switches {} (by name: {})",
                                    counted(ring_crossings(paths, ordered), "time"),
                                    ring_crossings(paths, by_name))};
}

}  // namespace

Result<HostList> read_order_list(const RankOrder& order, const Environment& environment) {
    using Source = RankOrder::Source;
    if (order.source != Source::file && order.source != Source::variable) return HostList{};
    return read_text(order, environment).and_then([&](const std::string& text) {
        auto list = HostList::parse(text);
        if (list) return list;
        return Result<HostList>(Error{key_of(order), list.error().cause(), list.error().remedy});
    });
}

Result<OrderedLayout> apply_order(const RankOrder& order, const HostList& list,
                                  const StepLayout& layout, const Environment& environment) {
    const HostList& hosts = layout.hosts();
    auto found = order.source == RankOrder::Source::switches
                     ? find_switch_order(order, hosts, environment)
                     : order_from_list(key_of(order), hosts, list)
                           .transform([&](std::vector<NodeIndex> nodes) {
                               return Order{std::move(nodes),
                                            formatted("order: {}", excerpt(to_string(order)))};
                           });
    if (!found) return found.error();
    auto ordered = layout.with_order(std::move(found->nodes));
    if (ordered) return OrderedLayout{*std::move(ordered), std::move(found->text)};
    const Error& error = ordered.error();
    return Error{key_of(order), error.problem, error.remedy};
}

}  // namespace distgpu
