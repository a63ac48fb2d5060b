// See switches.h.
#include "run/switches.h"

#include "base/format.h"
#include "base/values.h"
#include "mapping/layout/hostlist.h"
#include "node/slurm_command.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace distgpu::scaling {
namespace {

struct Switch {
    HostList name;            // one; Slurm writes switches as it writes hosts
    std::uint32_t level = 0;  // 0: the nodes are on it
    HostList nodes;           // on it and on those below it
};

// What precedes the separator; removes both from `text`.
std::string_view take_until(std::string_view& text, char separator) {
    const std::string_view taken = text.substr(0, text.find(separator));
    text.remove_prefix(std::min(taken.size() + 1, text.size()));
    return taken;
}

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
    const std::string_view block = value_of(line, "BlockName");
    auto name = HostList::parse(block.empty() ? value_of(line, "SwitchName") : block, 1);
    auto nodes = HostList::parse(value_of(line, "Nodes"), most);
    if (!name || !nodes) return std::nullopt;
    const auto level = whole_number(value_of(line, "Level"));
    return Switch{*std::move(name), level.value_or(0), *std::move(nodes)};
}

std::string path_to(const std::string& node, const std::vector<Switch>& switches) {
    std::map<std::uint32_t, std::vector<HostList>, std::greater<>> names;  // from the top level
    for (const Switch& one : switches) {
        if (one.nodes.find(node)) names[one.level].push_back(one.name);
    }
    std::vector<std::string> levels;
    levels.reserve(names.size());
    for (const auto& level : names) {
        levels.push_back(HostList::concatenate(level.second).to_string());
    }
    return join(levels, ".");
}

bool lacks_switches(const Node& node) {
    return node.switches.empty();
}

}  // namespace

void find_switches(std::vector<Node>& nodes, const Environment& environment) {
    constexpr std::chrono::seconds time_limit{5};
    if (std::none_of(nodes.begin(), nodes.end(), lacks_switches)) return;
    if (!environment.get("SLURM_JOB_ID")) return;
    const auto topology =
        run_slurm_command(environment, {"scontrol", "show", "topology"}, time_limit);
    if (topology) add_switches(nodes, *topology);
}

void add_switches(std::vector<Node>& nodes, std::string_view topology) {
    std::uint64_t left = std::uint64_t{1} << 17U;  // twice the nodes that Slurm can have
    std::vector<Switch> switches;
    while (!topology.empty()) {
        auto one = read_switch(take_until(topology, '\n'), left);
        if (!one) continue;
        left -= one->nodes.size();
        switches.push_back(*std::move(one));
    }
    for (Node& node : nodes) {
        if (lacks_switches(node)) node.switches = path_to(node.name, switches);
    }
}

}  // namespace distgpu::scaling
