// What `scontrol show topology` prints, to the switches that nccl-scaling gives its nodes.
#include "require.h"
#include "run/switches.h"
#include "target.h"

#include <vector>

namespace distgpu {

void try_text(std::string_view text) {
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
