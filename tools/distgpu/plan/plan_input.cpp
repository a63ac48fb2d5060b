#include "plan/plan_input.h"

#include <algorithm>
#include <vector>

namespace distgpu {
namespace {

Result<Done> visit_node(const PlanInput& input, const Step& step, NodeIndex node,
                        const NodeVisitor& visit, Warnings& warnings) {
    const NodeFacts node_facts = input.shape.facts(node);
    return plan(input.request, step, node_facts).and_then([&](NodePlan planned) {
        if (input.rank) {
            const auto other = [&](const TaskPlan& task) { return task.rank != *input.rank; };
            planned.tasks.erase(std::remove_if(planned.tasks.begin(), planned.tasks.end(), other),
                                planned.tasks.end());
        }
        for (const Error& warning : planned.warnings) warnings.insert(warning.message());
        return visit(planned, node_facts);
    });
}

// Those that run the tasks that are asked for.
std::vector<NodeIndex> nodes_of(const PlanInput& input) {
    const StepLayout& layout = input.shape.layout();
    if (input.rank) return {layout.place(*input.rank).node};
    if (input.node) return {*input.node};
    std::vector<NodeIndex> nodes;
    for (std::uint32_t node = 0; node < layout.node_count(); ++node) {
        nodes.push_back(NodeIndex{node});
    }
    return nodes;
}

}  // namespace

Result<Warnings> for_each_node(const PlanInput& input, const NodeVisitor& visit) {
    Step step{input.shape.layout(), input.facts};
    step.rendezvous.step = input.step;
    Warnings warnings = input.warnings;
    for (const NodeIndex node : nodes_of(input)) {
        if (auto done = visit_node(input, step, node, visit, warnings); !done) return done.error();
    }
    return warnings;
}

}  // namespace distgpu
