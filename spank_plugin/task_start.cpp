// See task_start.h.
#include "task_start.h"

#include "mapping/plan/plan.h"
#include "node/prepare_task.h"
#include "node/task_environment.h"

#include <cstdlib>
#include <string_view>
#include <unistd.h>

namespace distgpu {
namespace {

// One write, so that the tasks' texts do not mix.
[[noreturn]] void print_and_end(std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
        if (written <= 0) _exit(EXIT_FAILURE);
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    _exit(EXIT_SUCCESS);
}

NodeFacts collect_node_facts(spank_t spank, const AskedStep& asked, const StepBinding& binding,
                             const TaskIdentity& task) {
    NodeFacts facts = read_node_facts(StepVariables(spank));
    facts.node = task.node.node;
    facts.cpus_per_task = item(spank, S_STEP_CPUS_PER_TASK).value_or(0);
    facts.address = asked.own_address;
    facts.user_bound = asked.user_bound;
    binding.add_to(facts, spank, task.local);
    return facts;
}

// What dry-run prints; empty: the program shall run.
Result<std::string> prepare(spank_t spank, const AskedStep& asked, const StepBinding& binding,
                            const TaskIdentity& task) {
    const StepLayout& layout = asked.step.layout;
    if (auto mismatch = check_layout(layout, task.node)) return *std::move(mismatch);
    const NodeFacts facts = collect_node_facts(spank, asked, binding, task);
    return plan(asked.request, asked.step, facts).and_then([&](const NodePlan& node_plan) {
        StepVariables variables(spank);
        TaskProcess process{variables, tell};
        return prepare_task({asked.request, layout, facts, node_plan, task.local}, asked.spec,
                            process);
    });
}

}  // namespace

std::optional<Error> start_task(spank_t spank, const AskedStep& asked, const StepBinding& binding) {
    const auto prepared =
        read_task_identity(spank, asked.identity).and_then([&](const TaskIdentity& task) {
            return prepare(spank, asked, binding, task);
        });
    if (!prepared) return prepared.error();
    if (!prepared->empty()) print_and_end(*prepared);
    return std::nullopt;
}

}  // namespace distgpu
