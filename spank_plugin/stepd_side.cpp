#include "stepd_side.h"

#include "base/excerpt.h"
#include "base/format.h"
#include "mapping/frameworks/framework.h"
#include "mapping/plan/plan.h"
#include "mapping/spec/parse_spec.h"
#include "mapping/texts/variables.h"
#include "node/address_check.h"
#include "node/prepare_task.h"
#include "node/task_environment.h"
#include "refusal.h"
#include "slurm/pyxis_order.h"
#include "slurm/srun_options.h"
#include "slurm_calls.h"
#include "spank_access.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <sys/prctl.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

// Nothing: unset or empty.
std::optional<std::string> exported_spec(spank_t spank) {
    constexpr std::size_t longest = 4096;
    const auto text = step_variable(spank, spec_variable);
    if (!text) return std::nullopt;
    // What is shown of a text that is no line is no SPEC, and refused as that.
    std::string spec = text->line(longest).value_or(text->shown());
    return spec.empty() ? std::nullopt : std::optional(std::move(spec));
}

// srun has the SPEC read by its own plugin before it sends the option, or what it draws for
// `distgpu check`, which every component of a heterogeneous step gets.
bool accepted_by_srun(spank_t spank) {
    return step_variable(spank, secret_variable).has_value();
}

Error of_another_version(const Error& refused) {
    return {refused.object,
            formatted("{}, although srun accepted it: {} has distgpu {}, which does not know it",
                      refused.problem, node_name(), DISTGPU_VERSION),
            "update the packages on that node"};
}

// Where a component could stand in several places, its nodes may all be rank 0's.
bool runs_rank0(const AskedStep& asked) {
    const NodeIndex node = rank0_node(asked.step.layout);
    return std::any_of(asked.offsets.begin(), asked.offsets.end(), [&](ComponentOffset offset) {
        return in_step(asked.identity.component, offset).node == node;
    });
}

bool surely_runs_rank0(const AskedStep& asked) {
    return asked.offsets.size() == 1 && runs_rank0(asked);
}

// Of the nodes of a step, one; where components of one shape share a node, the first of each.
bool runs_first_node(const AskedStep& asked) {
    return !asked.offsets.empty() &&
           in_step(asked.identity.component, asked.offsets.front()).node == NodeIndex{0};
}

// A line that is easy to count: who used which mode, on how much.
void log_step(spank_t spank, const AskedStep& asked) {
    const RendezvousFacts& facts = asked.step.rendezvous;
    const StepLayout& layout = asked.step.layout;
    const std::string line =
        formatted("distgpu: step {}.{}: mode={} uid={} nodes={} tasks={}", facts.step.job,
                  facts.step.step, asked.request.framework->mode,
                  item(spank, S_JOB_UID).value_or(0), layout.node_count(), layout.task_count());
    slurm_info("%s", line.c_str());
}

// The plan of a node that may run rank 0, the one node where the rendezvous can fail.
Result<NodePlan> plan_of_rank0(const AskedStep& asked) {
    const NodeIndex node =
        asked.identity.heterogeneous ? rank0_node(asked.step.layout) : asked.identity.whole().node;
    return plan(asked.request, asked.step, NodeFacts{.node = node});
}

// A port belongs to the step until the end of its last process that holds the claim.
std::optional<Error> claim(const AskedStep& asked, const NodePlan& node_plan, PortClaims& claims) {
    const StepId& step = asked.step.rendezvous.step;
    return claim_ports(node_plan, node_plan.ports, formatted("{}.{}", step.job, step.step), claims);
}

// What would fail in the tasks is found here, once for all of them.
std::optional<Failure> check_plan(const AskedStep& asked, PortClaims& claims,
                                  std::vector<Error>& warnings) {
    const auto node_plan = plan_of_rank0(asked);
    if (!node_plan) return Failure{node_plan.error()};
    if (asked.identity.heterogeneous && !runs_rank0(asked)) return std::nullopt;
    if (surely_runs_rank0(asked)) {
        auto wrong =
            check_address(asked.request, asked.step.layout, asked.step.rendezvous, warnings);
        if (wrong) return Failure{*std::move(wrong)};
    }
    auto taken = claim(asked, *node_plan, claims);
    if (!taken) taken = check_ports(*node_plan, node_plan->ports, warnings);
    return taken ? std::optional(Failure{*std::move(taken)}) : std::nullopt;
}

// In a task, where nobody else could keep the claims: the first to get here has them, and its
// program after it.
std::optional<Failure> claim_again(const AskedStep& asked, PortClaims& claims) {
    if (asked.identity.heterogeneous && !runs_rank0(asked)) return std::nullopt;
    const auto node_plan = plan_of_rank0(asked);
    auto taken = node_plan ? claim(asked, *node_plan, claims) : std::nullopt;
    return taken ? std::optional(Failure{*std::move(taken)}) : std::nullopt;
}

// For the administrator, in slurmd's log.
void log_complaints(const PlugstackArguments& arguments) {
    for (const Error& complaint : arguments.complaints) {
        slurm_error("%s", ignored_argument(complaint).c_str());
    }
    if (stands_before(pyxis_plugin)) {
        slurm_error("distgpu: plugstack.conf: %.*s; put it after",
                    static_cast<int>(before_pyxis.size()), before_pyxis.data());
    }
}

// What needs to know all nodes of a step as one.
std::optional<Error> not_for_components(const Request& request) {
    constexpr const char* problem = "not for a heterogeneous step";
    if (reorders(request)) {
        return Error{formatted("order={}", excerpt(to_string(*request.order))), problem,
                     "leave order out"};
    }
    if (watch_of(request).minutes == 0) return std::nullopt;
    return Error{formatted("watch={}", to_string(*request.watch)), problem, "write watch alone"};
}

// To slurmd's log on every node, to the user from the one that runs the first task.
void warn(const std::vector<Error>& warnings, const ComponentTasks& component) {
    const bool first = !component.tasks.empty() && component.tasks.front() == ComponentTaskId{0};
    for (const Error& warning : warnings) {
        if (first) {
            tell(warning.message());
        } else {
            slurm_info("%s", warning.message().c_str());
        }
    }
}

}  // namespace

Outcome StepdSide::options_read(spank_t spank, const OptionState& option,
                                std::span<const char* const> arguments) {
    const auto step = item(spank, S_JOB_STEPID);
    if (!step || is_special_step(*step)) return Outcome::ok;
    auto spec = exported_spec(spank);
    if (!spec && !option.spec) return Outcome::ok;
    if (is_foreign_launcher(program_arguments(spank))) {
        // mpirun's daemon hands its environment on to the ranks.
        StepVariables variables(spank);
        remove_request(variables);
        variables.unset(secret_variable);
        return Outcome::ok;
    }
    stepd_ = getpid();
    identity_ = read_identity(spank, *step);
    arguments_ = parse_plugstack_arguments(arguments);
    log_complaints(arguments_);
    request_ = Asked{.origin = spec ? spec_variable : "--distgpu",
                     .spec = spec ? *std::move(spec) : *option.spec,
                     .by_option = option.spec.has_value(),
                     .root = file_root(),
                     .layout = std::nullopt};
    const bool is_off = arguments_.site_switch != SiteSwitch::on || request_->spec == "off";
    if (!is_off) request_->layout = ask_for_layout(spank, identity_);
    return Outcome::ok;
}

void StepdSide::read_request(spank_t spank, Asked asked) {
    auto request = parse_spec(asked.origin, asked.spec);
    if (!request) {
        const Error& error = request.error();
        const bool is_known = asked.by_option || accepted_by_srun(spank);
        failure_ = {is_known ? of_another_version(error) : error};
    } else if (request->framework != nullptr) {
        if (arguments_.site_switch != SiteSwitch::on) {
            switch_off(spank, asked.spec);
        } else {
            learn(spank, *std::move(request), std::move(asked));
        }
    }
}

// Where srun's host was switched off too, nobody asks here. The other nodes may not be: ranks on
// some of them alone would wait for the rest, so only a step of this one node can run without.
void StepdSide::switch_off(spank_t spank, const std::string& spec) {
    const bool alone = !identity_.heterogeneous && identity_.size.nodes == 1;
    const SiteSwitch site_switch = alone ? arguments_.site_switch : SiteSwitch::refused;
    Error told = switched_off(site_switch, spec, "on " + node_name());
    if (site_switch == SiteSwitch::refused) {
        failure_ = Failure{std::move(told)};
        return;
    }
    unprepared_ = std::move(told);
    StepVariables variables(spank);
    remove_request(variables);
}

void StepdSide::learn(spank_t spank, Request request, Asked asked) {
    if (identity_.heterogeneous) {
        if (auto error = not_for_components(request)) {
            failure_ = Failure{*std::move(error)};
            return;
        }
        if (arguments_.watch) arguments_.watch->minutes = 0;
    }
    take_defaults(request, arguments_);
    auto step = collect_asked_step(spank, identity_, std::move(request), std::move(asked.spec),
                                   arguments_, std::move(asked.layout));
    if (!step) {
        failure_ = std::move(step.error());
        return;
    }
    asked_ = *std::move(step);
    asked_->root = asked.root;
    failure_ = check_plan(*asked_, claims_, warnings_);
    // Under contain_spank this is another process with the same memory, and the number of a
    // descriptor that it has opened may be that of another one in slurmstepd.
    is_contained_ = getpid() != stepd_;
    if (is_contained_) claims_.release();
    if (arguments_.logs_steps && runs_first_node(*asked_)) log_step(spank, *asked_);
}

Outcome StepdSide::before_tasks(spank_t spank) {
    if (!request_) return Outcome::ok;
    notice_.create();
    read_request(spank, *std::exchange(request_, std::nullopt));
    if (unprepared_) tell(unprepared_->message());
    if (!asked_ || failure_) return Outcome::ok;
    for (Error& warning :
         binding_.before_tasks(spank, asked_->request, arguments_, identity_.component.tasks.size(),
                               asked_->own_address)) {
        warnings_.push_back(std::move(warning));
    }
    warn(warnings_, identity_.component);
    return Outcome::ok;
}

Outcome StepdSide::task_forked(spank_t spank) {
    if (asked_ && !failure_) binding_.task_forked(spank);
    if (++forked_ == identity_.component.tasks.size()) notice_.set_forked();
    return Outcome::ok;
}

Outcome StepdSide::before_container(spank_t spank) {
    constexpr std::chrono::seconds longest{5};
    if (!failure_) {
        if (!asked_ || !needs_host_side(spank, *asked_)) return Outcome::ok;
        // Each task has its cgroup and CPUs by then, and so has what it leaves behind.
        notice_.wait_until_forked(longest);
        host_ = keep_host_side(spank);
        return Outcome::ok;
    }
    // Slurm complains of each task that has gone before all are forked and told to go on.
    notice_.wait_until_forked(longest);
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    return end_refused_task(spank);
}

Outcome StepdSide::in_task(spank_t spank) {
    if (!asked_ || failure_) return Outcome::ok;
    if (is_contained_) failure_ = claim_again(*asked_, claims_of_task_);
    if (!failure_) failure_ = start_task(spank, *asked_, binding_, host_);
    return Outcome::ok;
}

// This is the task's own process: ending it keeps Slurm from adding two lines per task about a
// plugin that failed. While it waits, whatever ends the step ends it too.
Outcome StepdSide::end_refused_task(spank_t spank) {
    if (!failure_) return Outcome::ok;
    if (failure_->known_to_all) {
        // What srun sent reached this component alone; one node of it ends the others.
        if (identity_.heterogeneous && identity_.component.node == ComponentNode{0}) {
            notice_.set_told();
        }
        _exit(EXIT_FAILURE);
    }
    // proctrack/linuxproc spares what is called slurmstepd (kill_tree.c, 22.05 to 26.05).
    prctl(PR_SET_NAME, "distgpu");
    const std::uint32_t node = identity_.component.node.value;
    const std::uint32_t nodes = item(spank, S_JOB_NNODES).value_or(1);
    const auto turn = refusal_turn(node, std::max(nodes, node + 1));
    if (notice_.take_word()) {
        std::this_thread::sleep_for(turn);
        slurm_error("%s", failure_->error.message().c_str());
        // srun drops what is still on its way when the step is cancelled (22.05).
        constexpr std::chrono::milliseconds until_it_is_shown{250};
        std::this_thread::sleep_for(until_it_is_shown);
        notice_.set_told();
    } else {
        // With KillOnBadExit=1 the end of a task ends the step, before anybody has spoken.
        constexpr std::chrono::seconds grace{5};
        notice_.wait_until_told(turn + grace);
    }
    _exit(EXIT_FAILURE);
}

Outcome StepdSide::task_ended(spank_t spank) {
    // The next step may have its port before this slurmstepd has gone.
    if (++finished_ == identity_.component.tasks.size()) claims_.release();
    // The other tasks of the step would wait for this one: with KillOnBadExit=0, for ever.
    if (!notice_.is_told() || ended_) return Outcome::ok;
    ended_ = true;
    const AsUser as_user(spank);
    end_step(identity_.job, identity_.step);
    if (!identity_.heterogeneous) return Outcome::ok;
    // In a heterogeneous job each component has a step of this number in its own job. srun ends all
    // of them when it hears that the leader's has ended.
    const auto leader = het_leader(identity_.job);
    if (leader && *leader != identity_.job) end_step(*leader, identity_.step);
    return Outcome::ok;
}

void StepdSide::broke(const char* callback, const char* what) noexcept {
    try {
        failure_ = Failure{{callback, what, "please report this"}};
    } catch (const std::exception&) {
        failure_ = Failure{};  // no memory for the text
    }
}

}  // namespace distgpu
