#include "stepd_side.h"

#include "base/format.h"
#include "mapping/frameworks/framework.h"
#include "mapping/spec/parse_spec.h"
#include "mapping/texts/variables.h"
#include "node/prepare_task.h"
#include "node/task_environment.h"
#include "slurm/slurm_options.h"
#include "slurm_calls.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <sys/prctl.h>
#include <thread>
#include <unistd.h>

namespace distgpu {
namespace {

// Where a component could stand in several places, its nodes may all be rank 0's.
bool runs_rank0(const AskedStep& asked) {
    const NodeIndex node = rank0_node(asked.step.layout);
    return std::any_of(asked.offsets.begin(), asked.offsets.end(), [&](ComponentOffset offset) {
        return in_step(asked.identity.component, offset).node == node;
    });
}

// A port belongs to the step until the end of its last process that holds the claim.
std::optional<Error> claim(const AskedStep& asked, const NodePlan& node_plan, PortClaims& claims) {
    const StepId& step = asked.step.rendezvous.step;
    return claim_ports(node_plan, node_plan.ports, formatted("{}.{}", step.job, step.step), claims);
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

}  // namespace

Outcome StepdSide::options_read(spank_t spank, const std::optional<std::string>& option,
                                std::span<const char* const> arguments) {
    const auto step = item(spank, S_JOB_STEPID);
    if (!step || is_special_step(*step)) return Outcome::ok;
    const std::string twin = StepVariables(spank).text(spec_variable);
    if (twin.empty() && !option) return Outcome::ok;
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
    // For the administrator, in slurmd's log.
    for (const Error& complaint : arguments_.complaints) {
        slurm_error("%s", ignored_argument(complaint).c_str());
    }
    if (stands_before(pyxis_plugin)) {
        slurm_error("distgpu: plugstack.conf: %.*s; put it after",
                    static_cast<int>(before_pyxis.size()), before_pyxis.data());
    }
    // The excerpt of a text that is no line is no SPEC, and refused as that.
    constexpr std::size_t longest = 4096;
    request_ = Asked{
        .origin = twin.empty() ? "--distgpu" : spec_variable,
        .spec = twin.empty() ? *option : printable_line(twin, longest).value_or(excerpt(twin)),
        .by_option = option.has_value(),
        .root = file_root(),
        .layout = std::nullopt};
    const bool is_off = arguments_.site_switch != SiteSwitch::on || request_->spec == "off";
    if (!is_off) request_->layout = ask_for_layout(spank, identity_);
    return Outcome::ok;
}

void StepdSide::read_request(spank_t spank, Asked asked) {
    auto request = parse_spec(asked.origin, asked.spec);
    if (!request) {
        Error error = request.error();
        // srun has the SPEC read by its own plugin before it sends the option, or what it draws for
        // `distgpu check`, which every component of a heterogeneous step gets.
        if (asked.by_option || StepVariables(spank).get(secret_variable)) {
            error.problem +=
                formatted(", although srun accepted it: {} has distgpu {}, which does not know it",
                          node_name(), DISTGPU_VERSION);
            error.remedy = "update the packages on that node";
        }
        failure_ = Failure{std::move(error)};
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
    if (auto error = check_plan()) failure_ = Failure{*std::move(error)};
    // Under contain_spank this is another process with the same memory, and the number of a
    // descriptor that it has opened may be that of another one in slurmstepd.
    is_contained_ = getpid() != stepd_;
    if (is_contained_) claims_.release();
    // A line that is easy to count: who used which mode, on how much. Of the nodes of a step, one
    // writes it; where components of one shape share a node, the first of each.
    if (!arguments_.logs_steps || asked_->offsets.empty() ||
        in_step(identity_.component, asked_->offsets.front()).node != NodeIndex{0}) {
        return;
    }
    const StepId& id = asked_->step.rendezvous.step;
    const StepLayout& layout = asked_->step.layout;
    const std::string line =
        formatted("distgpu: step {}.{}: mode={} uid={} nodes={} tasks={}", id.job, id.step,
                  asked_->request.framework->mode, item(spank, S_JOB_UID).value_or(0),
                  layout.node_count(), layout.task_count());
    slurm_info("%s", line.c_str());
}

// What would fail in the tasks is found here, once for all of them. Only on a node that may run
// rank 0 the rendezvous can fail.
std::optional<Error> StepdSide::check_plan() {
    const NodeIndex node =
        identity_.heterogeneous ? rank0_node(asked_->step.layout) : identity_.whole().node;
    auto node_plan = plan(asked_->request, asked_->step, NodeFacts{.node = node});
    if (!node_plan) return node_plan.error();
    if (identity_.heterogeneous && !runs_rank0(*asked_)) return std::nullopt;
    if (asked_->offsets.size() == 1 && runs_rank0(*asked_)) {
        auto wrong =
            check_address(asked_->request, asked_->step.layout, asked_->step.rendezvous, warnings_);
        if (wrong) return wrong;
    }
    plan_with_ports_ = *std::move(node_plan);
    if (auto taken = claim(*asked_, *plan_with_ports_, claims_)) return taken;
    return check_ports(*plan_with_ports_, plan_with_ports_->ports, warnings_);
}

Outcome StepdSide::before_tasks(spank_t spank) {
    if (!request_) return Outcome::ok;
    notice_.create();
    read_request(spank, *std::exchange(request_, std::nullopt));
    if (unprepared_) tell(unprepared_->message());
    if (!asked_ || failure_) return Outcome::ok;
    const auto& tasks = identity_.component.tasks;
    // Without other nodes nobody has to reach this one.
    const std::string address =
        asked_->step.layout.node_count() > 1 ? asked_->own_address : std::string();
    for (Error& warning :
         binding_.before_tasks(spank, asked_->request, arguments_, tasks.size(), address)) {
        warnings_.push_back(std::move(warning));
    }
    // To slurmd's log on every node, to the user from the one that runs the first task.
    const bool is_first = !tasks.empty() && tasks.front() == ComponentTaskId{0};
    for (const Error& warning : warnings_) {
        if (is_first) {
            tell(warning.message());
        } else {
            slurm_info("%s", warning.message().c_str());
        }
    }
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
    // Nobody else could keep the claims: the first task to get here has them, and its program after
    // it.
    if (is_contained_ && plan_with_ports_) {
        auto taken = claim(*asked_, *plan_with_ports_, claims_of_task_);
        if (taken) failure_ = Failure{*std::move(taken)};
    }
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
    if (notice_.claim_reporter()) {
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
