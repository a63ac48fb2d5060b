#include "run/switches.h"

#include "base/format.h"
#include "mapping/layout/switches.h"
#include "slurm/slurm_command.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace distgpu::scaling {
namespace {

// As SLURM_TOPOLOGY_ADDR has it, which names no blocks taken together.
std::string path_to(const std::string& node, const std::vector<Switch>& switches) {
    std::map<std::uint32_t, std::vector<HostList>, std::greater<>> names;  // from the top level
    for (const Switch& one : switches) {
        if (!one.name.empty() && one.nodes.find(node)) names[one.level].push_back(one.name);
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
    const std::vector<Switch> switches = read_switches(topology);
    for (Node& node : nodes) {
        if (lacks_switches(node)) node.switches = path_to(node.name, switches);
    }
}

}  // namespace distgpu::scaling
