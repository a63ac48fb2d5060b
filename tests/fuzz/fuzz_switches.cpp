// What `scontrol show topology` prints, to the switches that nccl-scaling gives its nodes, and
// to the order of a step's nodes.
#include "mapping/layout/switches.h"
#include "require.h"
#include "run/switches.h"
#include "target.h"

#include <algorithm>
#include <string>
#include <vector>

namespace distgpu {

namespace {

void require_an_order(const std::vector<SwitchPath>& paths) {
    std::vector<bool> named(paths.size());
    for (const NodeIndex node : order_by_switch(paths)) {
        require(!named.at(node.value), "a node is named once");
        named[node.value] = true;
    }
    require(std::find(named.begin(), named.end(), false) == named.end(), "and each is");
}

}  // namespace

void try_text(std::string_view text) {
    const std::vector<std::string> names{"n1", "n02", "n3"};
    require_an_order(switches_above(HostList::from_names(names), read_switches(text)));
    using scaling::Node;
    std::vector<Node> nodes{Node{"n1", 1, {}, {}}, Node{"n02", 1, {}, {}},
                            Node{"n3", 1, {}, {}, "s1"}};
    add_switches(nodes, text);
    require(nodes.back().switches == "s1", "what a rank said stays");
    nodes.pop_back();
    for (const Node& node : nodes) {
        if (node.switches.empty()) continue;
        require_line(node.switches);
        require(node.switches.size() <= text.size(), "every switch stands in the text");
    }
    const auto before = nodes;
    add_switches(nodes, text);
    require(nodes == before, "the same text tells no more");
}

}  // namespace distgpu
