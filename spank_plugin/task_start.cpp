// See task_start.h.
#include "task_start.h"

#include "mapping/plan/plan.h"
#include "node/handed_layout.h"
#include "node/launch_variables.h"
#include "node/prepare_task.h"
#include "node/task_environment.h"
#include "node/variables.h"
#include "slurm_calls.h"

#include <cstdlib>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

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

// Another plugin has put this task into a container.
bool is_in_container(const AskedStep& asked) {
    return asked.root != file_root();
}

NodeFacts collect_node_facts(spank_t spank, const AskedStep& asked, const StepBinding& binding,
                             const TaskIdentity& task) {
    NodeFacts facts = read_node_facts(StepVariables(spank), asked.launch);
    facts.node = task.node.node;
    facts.cpus_per_task = item(spank, S_STEP_CPUS_PER_TASK).value_or(0);
    if (asked.gpus > 0) facts.gpus_of_step = asked.gpus;
    facts.address = asked.own_address;
    facts.user_bound = asked.user_bound;
    facts.gpus_by_slurm = gives_gpus();
    binding.add_to(facts, spank, task.local);
    return facts;
}

// Tells of what the container has otherwise, once, and leaves it for `distgpu check`.
void announce_container(Environment& variables, const std::vector<ContainerSetting>& settings,
                        const Request& request, const TaskPlan& task) {
    const std::string mark = container_mark(settings, task);
    if (mark.empty()) {
        variables.unset(container_variable);
    } else {
        variables.set(container_variable, mark);
    }
    if (!(request.verbose || request.dry_run) || task.task != TaskId{0}) return;
    for (const std::string& line : container_lines(settings, task)) tell(line);
}

// What dry-run prints; empty: the program shall run.
Result<std::string> prepare(spank_t spank, const AskedStep& asked, const StepBinding& binding,
                            const TaskIdentity& task) {
    const StepLayout& layout = asked.step.layout;
    if (auto mismatch = check_layout(layout, task.node)) return *std::move(mismatch);
    StepVariables variables(spank);
    std::vector<ContainerSetting> settings;
    if (is_in_container(asked)) {
        set_slurm_numbers(spank, task);
        settings = put_back(variables, asked.launch);
    }
    const NodeFacts facts = collect_node_facts(spank, asked, binding, task);
    return plan(asked.request, asked.step, facts).and_then([&](const NodePlan& node_plan) {
        announce_container(variables, settings, asked.request, node_plan.tasks[task.local.value]);
        hand_on_layout(variables, layout);
        TaskProcess process{variables, tell};
        return prepare_task(
            {asked.request, layout, facts, node_plan, task.local, asked.told_by_srun}, asked.spec,
            process);
    });
}

}  // namespace

std::optional<Error> start_task(spank_t spank, const AskedStep& asked, const StepBinding& binding) {
    const auto prepared =
        read_task_identity(spank, asked.identity, asked.offsets, is_in_container(asked))
            .and_then(
                [&](const TaskIdentity& task) { return prepare(spank, asked, binding, task); });
    if (!prepared) return prepared.error();
    if (!prepared->empty()) print_and_end(*prepared);
    return std::nullopt;
}

}  // namespace distgpu
