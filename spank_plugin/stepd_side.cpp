// See stepd_side.h.
#include "stepd_side.h"

#include "foreign_launcher.h"
#include "mapping/plan/plan.h"
#include "node/machine.h"
#include "node/prepare_task.h"
#include "node/task_environment.h"
#include "node/variables.h"
#include "slurm_calls.h"
#include "task_start.h"

#include <cstdlib>
#include <unistd.h>
#include <utility>

namespace distgpu {
namespace {

using Teller = Failure::Teller;

// In a heterogeneous step, whose components SPANK numbers apart: rank 0's node is
// the one of that name that holds the leader's first task.
bool runs_rank0(spank_t spank, const AskedStep& asked) {
    const auto& tasks = asked.identity.component.tasks;
    const StepLayout& layout = asked.step.layout;
    return step_number(spank, "SLURM_JOB_ID") == asked.identity.job && !tasks.empty() &&
           tasks.front() == ComponentTaskId{0} &&
           layout.hosts().name(rank0_node(layout)) == host_name();
}

// What would fail in the tasks is found here, where the step can still be ended.
std::optional<Failure> check_plan(spank_t spank, const AskedStep& asked) {
    const bool heterogeneous = asked.identity.heterogeneous;
    const NodeIndex node =
        heterogeneous ? rank0_node(asked.step.layout) : asked.identity.whole().node;
    const auto node_plan = plan(asked.request, asked.step, NodeFacts{.node = node});
    if (!node_plan) return Failure{node_plan.error(), Teller::first_node};
    if (heterogeneous && !runs_rank0(spank, asked)) return std::nullopt;
    auto taken = check_ports(*node_plan, node_plan->ports, tell);
    return taken ? std::optional(Failure{*std::move(taken), Teller::this_node}) : std::nullopt;
}

}  // namespace

Outcome StepdSide::options_read(spank_t spank, const OptionState& option,
                                std::span<const char* const> arguments) {
    const auto step = item(spank, S_JOB_STEPID);
    if (!step || is_special_step(*step)) return Outcome::ok;
    auto spec = step_variable(spank, spec_variable);
    if (spec && spec->empty()) spec.reset();
    if (!spec && !option.spec) return Outcome::ok;
    if (is_foreign_launcher(program_arguments(spank))) {
        // mpirun's daemon hands its environment on to the ranks.
        StepVariables variables(spank);
        remove_request(variables);
        return Outcome::ok;
    }
    identity_ = read_identity(spank, *step);
    const char* const origin = spec ? spec_variable : "--distgpu";
    std::string text = spec ? *std::move(spec) : *option.spec;
    auto request = parse_spec(origin, text);
    if (!request) {
        failure_ = {request.error(), Teller::first_node};
    } else if (request->framework != nullptr) {
        arguments_ = parse_plugstack_arguments(arguments);
        learn(spank, *std::move(request), std::move(text));
    }
    return Outcome::ok;
}

void StepdSide::learn(spank_t spank, Request request, std::string spec) {
    for (const std::string& complaint : arguments_.complaints) slurm_error("%s", complaint.c_str());
    take_defaults(request, arguments_);
    auto found = find_layout(spank, identity_);
    if (!found) {
        failure_ = std::move(found.error());
        return;
    }
    const bool user_bound = found->user_bound;
    Step step = collect_step(spank, identity_, request, arguments_, *std::move(found));
    std::string address = own_address(identity_, step.layout);
    asked_ = AskedStep{std::move(spec), std::move(request), identity_,
                       std::move(step), std::move(address), user_bound};
}

bool StepdSide::tells(const Failure& failure) const {
    if (failure.teller == Teller::first_node) return identity_.component.node == ComponentNode{0};
    return failure.teller == Teller::this_node;
}

Outcome StepdSide::before_tasks(spank_t spank) {
    if (asked_ && !failure_) failure_ = check_plan(spank, *asked_);
    if (failure_) {
        if (tells(*failure_)) slurm_error("%s", failure_->error.message().c_str());
    } else if (asked_) {
        binding_.before_tasks(spank, asked_->request, arguments_, identity_.component.tasks.size(),
                              asked_->own_address);
    }
    return Outcome::ok;
}

Outcome StepdSide::task_forked(spank_t spank) {
    if (asked_ && !failure_) binding_.task_forked(spank);
    return Outcome::ok;
}

Outcome StepdSide::in_task(spank_t spank) {
    // This is the task's own process: ending it keeps Slurm from adding two
    // lines per task about a plugin that failed.
    if (failure_) _exit(EXIT_FAILURE);
    if (asked_ && start_task(spank, *asked_, binding_) == Outcome::refused) _exit(EXIT_FAILURE);
    return Outcome::ok;
}

Outcome StepdSide::after_tasks(spank_t /*spank*/) const {
    // The tasks of this node are gone, those of the others wait for them: with
    // KillOnBadExit=0 they would wait for ever.
    if (failure_) end_step(identity_.job, identity_.step);
    return Outcome::ok;
}

}  // namespace distgpu
