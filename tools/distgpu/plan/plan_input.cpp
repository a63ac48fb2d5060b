// See plan_input.h.
#include "plan/plan_input.h"

#include <algorithm>

namespace distgpu {
namespace {

Result<Done> visit_node(const PlanInput& input, const Step& step, NodeIndex node,
                        const NodeVisitor& visit) {
    const NodeFacts node_facts = input.shape.facts(node);
    return plan(input.request, step, node_facts).and_then([&](NodePlan planned) {
        if (input.rank) {
            const auto other = [&](const TaskPlan& task) { return task.rank != *input.rank; };
            planned.tasks.erase(std::remove_if(planned.tasks.begin(), planned.tasks.end(), other),
                                planned.tasks.end());
        }
        return visit(planned, node_facts);
    });
}

}  // namespace

Result<Done> for_each_node(const PlanInput& input, const NodeVisitor& visit) {
    Step step{input.shape.layout()};
    step.rendezvous.step = input.step;
    const StepLayout& layout = step.layout;
    if (input.rank) return visit_node(input, step, layout.place(task_of(*input.rank)).node, visit);
    if (input.node) return visit_node(input, step, *input.node, visit);
    for (std::uint32_t node = 0; node < layout.node_count(); ++node) {
        if (auto done = visit_node(input, step, NodeIndex{node}, visit); !done) return done;
    }
    return Done{};
}

}  // namespace distgpu
