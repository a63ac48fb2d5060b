#include "plan/step_topologies.h"

#include "base/format.h"
#include "mapping/layout/hostlist.h"
#include "node/discovery/discover.h"

#include <string_view>
#include <variant>

namespace distgpu {
namespace {

using Loaded = Result<std::monostate>;

Loaded load_for(std::string_view nodes, const std::string& path, const StepLayout& layout,
                StepTopologies& topologies) {
    const auto names = HostList::parse(nodes);
    if (!names) return names.error();
    const auto topology = load_topology(path);
    if (!topology) return topology.error();
    for (std::uint32_t i = 0; i < names->size(); ++i) {
        const std::string name = names->name(NodeIndex{i});
        const auto node = layout.hosts().find(name);
        if (!node) {
            return Error{formatted("--topology {}={}", nodes, path),
                         formatted("{} is not a node of the step", name),
                         formatted("its nodes are {}", layout.hosts().to_string())};
        }
        topologies.of_node.insert_or_assign(node->value, *topology);
    }
    return std::monostate{};
}

Loaded load_value(const std::string& value, const StepLayout& layout, StepTopologies& topologies) {
    const std::size_t equals = value.find('=');
    // A path may hold a '=' too, but nodes no '/'.
    if (equals != std::string::npos && value.find('/') > equals) {
        return load_for(std::string_view(value).substr(0, equals), value.substr(equals + 1), layout,
                        topologies);
    }
    return load_topology(value).transform([&](NodeTopology topology) {
        topologies.usual = std::move(topology);
        return std::monostate{};
    });
}

}  // namespace

Result<StepTopologies> load_topologies(const std::vector<std::string>& values,
                                       const StepLayout& layout) {
    StepTopologies topologies;
    for (const std::string& value : values) {
        if (const auto loaded = load_value(value, layout, topologies); !loaded) {
            return loaded.error();
        }
    }
    return topologies;
}

}  // namespace distgpu
