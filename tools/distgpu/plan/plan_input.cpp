// See plan_input.h.
#include "plan/plan_input.h"

#include <algorithm>

namespace distgpu {
namespace {

Result<Done> visit_node(const PlanInput& input, NodeIndex node, const NodeVisitor& visit) {
    RendezvousFacts facts;
    facts.step = input.step;
    const NodeFacts node_facts = input.shape.facts(node);
    return plan(input.request, input.shape.layout(), facts, {}, node_facts, node)
        .and_then([&](NodePlan planned) {
            if (input.rank) {
                const auto other = [&](const TaskPlan& task) { return task.rank != *input.rank; };
                planned.tasks.erase(
                    std::remove_if(planned.tasks.begin(), planned.tasks.end(), other),
                    planned.tasks.end());
            }
            return visit(planned, node_facts);
        });
}

}  // namespace

Result<Done> for_each_node(const PlanInput& input, const NodeVisitor& visit) {
    const StepLayout& layout = input.shape.layout();
    if (input.rank) return visit_node(input, layout.place(task_of(*input.rank)).node, visit);
    if (input.node) return visit_node(input, *input.node, visit);
    for (std::uint32_t node = 0; node < layout.node_count(); ++node) {
        if (auto done = visit_node(input, NodeIndex{node}, visit); !done) return done;
    }
    return Done{};
}

}  // namespace distgpu
