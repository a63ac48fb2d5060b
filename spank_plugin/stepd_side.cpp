#include "stepd_side.h"

#include "base/format.h"
#include "base/io/files.h"
#include "mapping/frameworks/framework.h"
#include "mapping/spec/parse_spec.h"
#include "mapping/texts/variables.h"
#include "node/failed_task.h"
#include "node/out_of_memory.h"
#include "node/prepare_task.h"
#include "node/task_environment.h"
#include "slurm/slurm_options.h"
#include "slurm_calls.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <sys/prctl.h>
#include <thread>
#include <unistd.h>

namespace distgpu {
namespace {

// Whether this node may run rank 0; if the component has several possible positions, each counts.
bool may_run_rank0(const EnabledStep& enabled) {
    const NodeIndex node = rank0_node(enabled.step.layout);
    return std::any_of(enabled.offsets.begin(), enabled.offsets.end(), [&](ComponentOffset offset) {
        return to_whole_step(enabled.identity.component, offset).node == node;
    });
}

// The step keeps a port until the last of its processes that hold the claim ends.
std::optional<Error> claim_node_ports(const EnabledStep& enabled, const NodePlan& node_plan,
                                      PortClaims& claims) {
    const StepId& step = enabled.step.rendezvous.step;
    return claim_ports(node_plan, node_plan.ports, formatted("{}.{}", step.job, step.step), claims);
}

// The addresses that the plan has from slurm.conf, where they may be out of date: that of rank 0's
// node, or those of all nodes. Each of these nodes compares its own.
std::optional<Error> check_configured_address(const EnabledStep& enabled, const NodePlan& plan) {
    const SentStep& sent = enabled.sent;
    if (!sent.configured) return std::nullopt;
    const bool is_rank0 = plan.node == rank0_node(enabled.step.layout);
    std::string address = is_rank0 ? plan.rendezvous.address : std::string();
    const bool is_sent = is_rank0 && address == sent.rank0_address;
    if (!is_sent && enabled.request.framework->names_all_nodes && !sent.node_addresses.empty()) {
        address = sent.node_addresses.name(plan.node);
    } else if (!is_sent) {
        return std::nullopt;
    }
    if (!is_ip_address(address) || has_address(address)) return std::nullopt;
    return Error{formatted("NodeAddr {} of {}", address, plan.node_name),
                 "in srun's slurm.conf, but not an address of that node", ask_remedy};
}

// Whether SPEC, not yet parsed, or the administrator may ask for a report.
bool may_have_report(std::string_view spec, const PlugstackArguments& site) {
    return site.report.has_value() || spec.find("report") != std::string_view::npos;
}

// Refuses keys that need all nodes of a step as a whole.
std::optional<Error> refuse_for_components(const Request& request) {
    constexpr const char* problem = "not supported in a heterogeneous step";
    if (reorders_nodes(request)) {
        return Error{formatted("order={}", excerpt(to_string(*request.order))), problem,
                     "leave order out"};
    }
    if (watch_of(request).minutes == 0) return std::nullopt;
    return Error{formatted("watch={}", to_string(*request.watch)), problem, "write watch alone"};
}

}  // namespace

Outcome StepdSide::on_init(spank_t spank) {
    if (StepVariables(spank).get(spec_variable)) node_root_ = file_root();
    return Outcome::ok;
}

Outcome StepdSide::on_init_post_opt(spank_t spank, const char* plugin_file,
                                    const std::optional<std::string>& option,
                                    std::span<const char* const> arguments) {
    const auto step = read_item(spank, S_JOB_STEPID);
    if (!step || is_special_step(*step)) return Outcome::ok;
    const std::string sent_spec = StepVariables(spank).text(spec_variable);
    if (sent_spec.empty() && !option) return Outcome::ok;
    if (is_mpi_daemon(program_arguments(spank))) {
        // mpirun's daemon passes its environment on to the ranks.
        StepVariables variables(spank);
        remove_request_variables(variables);
        variables.unset(secret_variable);
        return Outcome::ok;
    }
    stepd_ = getpid();
    identity_ = read_node_identity(spank, *step);
    arguments_ = parse_plugstack_arguments(arguments);
    // For the administrator, in slurmd's log.
    for (const Error& complaint : arguments_.ignored_arguments) {
        slurm_error("%s", ignored_argument_message(complaint).c_str());
    }
    if (is_loaded_before(plugin_file, pyxis_plugin)) {
        slurm_error("distgpu: plugstack.conf: %.*s; put it after",
                    static_cast<int>(before_pyxis.size()), before_pyxis.data());
    }
    // If the text is not one line, its excerpt is not a valid SPEC and is refused as such.
    constexpr std::size_t max_size = 4096;
    unread_request_ = UnreadRequest{
        .origin = sent_spec.empty() ? "--distgpu" : spec_variable,
        .spec = sent_spec.empty()
                    ? *option
                    : printable_line(sent_spec, max_size).value_or(excerpt(sent_spec)),
        .by_option = option.has_value(),
        .root = file_root(),
        .in_jail = node_root_ && *node_root_ != file_root(),
        .layout = std::nullopt};
    if (unread_request_->in_jail) binding_.open_topology_outside_jail(arguments_);
    const bool is_off = arguments_.site_switch != SiteSwitch::on || unread_request_->spec == "off";
    if (is_off) return Outcome::ok;
    unread_request_->layout = query_layout_if_needed(spank, identity_);
    // In user_init, which reads the request, it may be too late (is_contained_).
    if (may_have_report(unread_request_->spec, arguments_)) sampler_.open();
    return Outcome::ok;
}

void StepdSide::read_request(spank_t spank, UnreadRequest unread) {
    auto request = parse_spec(unread.origin, unread.spec);
    if (!request) {
        Error error = request.error();
        // srun's own plugin has parsed the SPEC before srun sends the option, or the secret, which
        // every component of a heterogeneous step gets.
        if (unread.by_option || StepVariables(spank).get(secret_variable)) {
            error.problem +=
                formatted(", although srun accepted it: {} has distgpu {}, which does not know it",
                          node_name(), DISTGPU_VERSION);
            error.remedy = "update the packages on that node";
        }
        failure_ = Failure{std::move(error)};
    } else if (request->framework != nullptr) {
        if (arguments_.site_switch != SiteSwitch::on) {
            switch_off(spank, unread.spec);
        } else {
            read_step(spank, *std::move(request), std::move(unread));
        }
    }
}

// srun's host is not switched off, otherwise there would be no request here; and other nodes may
// not be either. Their ranks would wait for this node's, so only a step of this one node can run
// without distgpu.
void StepdSide::switch_off(spank_t spank, const std::string& spec) {
    const bool is_only_node = !identity_.heterogeneous && identity_.size.nodes == 1;
    const SiteSwitch site_switch = is_only_node ? arguments_.site_switch : SiteSwitch::refused;
    Error error = switched_off_error(site_switch, spec, "on " + node_name());
    if (site_switch == SiteSwitch::refused) {
        failure_ = Failure{std::move(error)};
        return;
    }
    off_warning_ = std::move(error);
    StepVariables variables(spank);
    remove_request_variables(variables);
}

void StepdSide::read_step(spank_t spank, Request request, UnreadRequest unread) {
    if (identity_.heterogeneous) {
        if (auto error = refuse_for_components(request)) {
            failure_ = Failure{*std::move(error)};
            return;
        }
        if (arguments_.watch) arguments_.watch->minutes = 0;
    }
    apply_defaults(request, arguments_);
    auto step = collect_enabled_step(spank, identity_, std::move(request), std::move(unread.spec),
                                     arguments_, std::move(unread.layout));
    if (!step) {
        failure_ = std::move(step.error());
        return;
    }
    enabled_step_ = *std::move(step);
    enabled_step_->root = unread.root;
    enabled_step_->in_jail = unread.in_jail;
    if (auto error = check_plan()) failure_ = Failure{*std::move(error)};
    // Under contain_spank this is another process that shares slurmstepd's memory but not its
    // descriptors: a number opened here may be another descriptor in slurmstepd.
    is_contained_ = getpid() != stepd_;
    if (is_contained_) claims_.release();
    if (!has_report(*enabled_step_)) sampler_.close();
    // A line for usage statistics: which user used which mode on how many nodes. One node of the
    // step writes it; if components of one shape share a node, the first node of each.
    if (!arguments_.logs_steps || enabled_step_->offsets.empty() ||
        to_whole_step(identity_.component, enabled_step_->offsets.front()).node != NodeIndex{0}) {
        return;
    }
    const StepId& id = enabled_step_->step.rendezvous.step;
    const StepLayout& layout = enabled_step_->step.layout;
    const std::string line =
        formatted("distgpu: step {}.{}: mode={} uid={} nodes={} tasks={}", id.job, id.step,
                  enabled_step_->request.framework->mode, read_item(spank, S_JOB_UID).value_or(0),
                  layout.node_count(), layout.task_count());
    slurm_info("%s", line.c_str());
}

// Finds here, once for all tasks, what would fail in them. The rendezvous can fail only on a node
// that may run rank 0.
std::optional<Error> StepdSide::check_plan() {
    const NodeIndex node =
        identity_.heterogeneous ? rank0_node(enabled_step_->step.layout) : identity_.whole().node;
    auto node_plan = plan(enabled_step_->request, enabled_step_->step, NodeFacts{.node = node});
    if (!node_plan) return node_plan.error();
    if (auto error = check_configured_address(*enabled_step_, *node_plan)) return error;
    if (identity_.heterogeneous && !may_run_rank0(*enabled_step_)) return std::nullopt;
    if (enabled_step_->offsets.size() == 1 && may_run_rank0(*enabled_step_)) {
        auto wrong_address = check_address(enabled_step_->request, enabled_step_->step.layout,
                                           enabled_step_->step.rendezvous, warnings_);
        if (wrong_address) return wrong_address;
    }
    plan_with_ports_ = *std::move(node_plan);
    if (auto taken = claim_node_ports(*enabled_step_, *plan_with_ports_, claims_)) return taken;
    return check_ports(*plan_with_ports_, plan_with_ports_->ports, warnings_);
}

Outcome StepdSide::on_user_init(spank_t spank) {
    if (!unread_request_) return Outcome::ok;
    notice_.create();
    read_request(spank, *std::exchange(unread_request_, std::nullopt));
    if (off_warning_) print_to_user(off_warning_->message());
    if (!enabled_step_ || failure_) return Outcome::ok;
    const auto& tasks = identity_.component.tasks;
    // Without other nodes, no one has to reach this one.
    const std::string address =
        enabled_step_->step.layout.node_count() > 1 ? enabled_step_->own_address : std::string();
    for (Error& warning : binding_.read_node(enabled_step_->launch, enabled_step_->request,
                                             arguments_, tasks.size(), address)) {
        warnings_.push_back(std::move(warning));
    }
    // Every node writes them to slurmd's log; the node that runs the first task also prints them to
    // the user.
    const bool is_first = !tasks.empty() && tasks.front() == ComponentTaskId{0};
    for (const Error& warning : warnings_) {
        if (is_first) {
            print_to_user(warning.message());
        } else {
            slurm_info("%s", warning.message().c_str());
        }
    }
    return Outcome::ok;
}

Outcome StepdSide::on_task_post_fork(spank_t spank) {
    if (enabled_step_ && !failure_) binding_.record_task(spank);
    if (++forked_tasks_ == identity_.component.tasks.size()) {
        notice_.set_forked();
        sampler_.close_sampler_end();
    }
    return Outcome::ok;
}

Outcome StepdSide::on_task_init_privileged(spank_t spank) {
    constexpr std::chrono::seconds time_limit{5};
    if (!failure_) {
        if (!enabled_step_) return Outcome::ok;
        task_parent_ = open_task_parent(*enabled_step_);
        if (!needs_host_access(spank, *enabled_step_)) return Outcome::ok;
        // By then each task has its cgroup and CPUs, which the helper then inherits.
        notice_.wait_until_forked(time_limit);
        host_ = open_host_access(spank);
        return Outcome::ok;
    }
    // Slurm logs an error for each task that ends before all are forked and released.
    notice_.wait_until_forked(time_limit);
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    return end_refused_task(spank);
}

Outcome StepdSide::on_task_init(spank_t spank) {
    if (!enabled_step_ || failure_) return Outcome::ok;
    // slurmstepd cannot hold the claims: the first task that gets here holds them, and its program
    // after it.
    if (is_contained_ && plan_with_ports_) {
        auto taken = claim_node_ports(*enabled_step_, *plan_with_ports_, claims_of_task_);
        if (taken) failure_ = Failure{*std::move(taken)};
    }
    if (!failure_)
        failure_ = start_task(spank, *enabled_step_, binding_, host_, task_parent_, sampler_);
    return Outcome::ok;
}

// This is the task's own process: ending it keeps Slurm from adding two lines per task about a
// failed plugin. While it waits, anything that ends the step ends it too.
Outcome StepdSide::end_refused_task(spank_t spank) {
    if (!failure_) return Outcome::ok;
    notice_.set_refused();
    if (failure_->known_to_all) {
        // What srun sent reached only this component; one of its nodes ends the other components.
        if (identity_.heterogeneous && identity_.component.node == ComponentNode{0}) {
            notice_.set_reported();
        }
        _exit(EXIT_FAILURE);
    }
    // proctrack/linuxproc spares processes named slurmstepd (kill_tree.c, 22.05 to 26.05).
    prctl(PR_SET_NAME, "distgpu");
    const std::uint32_t node = identity_.component.node.value;
    const std::uint32_t nodes = read_item(spank, S_JOB_NNODES).value_or(1);
    const auto turn = refusal_delay(node, std::max(nodes, node + 1));
    if (notice_.claim_reporter()) {
        std::this_thread::sleep_for(turn);
        slurm_error("%s", failure_->error.message().c_str());
        // srun drops output that is still on its way when the step is cancelled (22.05).
        constexpr std::chrono::milliseconds until_printed{250};
        std::this_thread::sleep_for(until_printed);
        notice_.set_reported();
    } else {
        // With KillOnBadExit=1 the end of any task ends the step, possibly before the report.
        constexpr std::chrono::seconds grace{5};
        notice_.wait_until_reported(turn + grace);
    }
    _exit(EXIT_FAILURE);
}

// nullopt if a launcher has several ranks in that task, or the task's place is not known.
std::optional<GlobalRank> StepdSide::rank_of(std::optional<std::uint32_t> local) const {
    if (!enabled_step_ || enabled_step_->offsets.size() != 1 || !local ||
        *local >= identity_.component.tasks.size()) {
        return std::nullopt;
    }
    const Framework& framework = *enabled_step_->request.framework;
    if (framework.launcher_per_node && !framework.launchers.empty()) return std::nullopt;
    const NodeIndex node = to_whole_step(identity_.component, enabled_step_->offsets.front()).node;
    return enabled_step_->step.layout.rank(node, LocalRank{*local});
}

// Makes a connection as the user would, whose variables say where to.
void StepdSide::report_end(spank_t spank) {
    int status = 0;
    const auto local = read_item(spank, S_TASK_ID);
    const bool is_alone = !identity_.heterogeneous && identity_.size.tasks == 1;
    if (!enabled_step_ || !enabled_step_->srun || notice_.is_refused() || is_alone || !local ||
        *local >= identity_.component.tasks.size() ||
        spank_get_item(spank, S_TASK_EXIT_STATUS, &status) != ESPANK_SUCCESS) {
        return;
    }
    const std::uint32_t most = status == 0 ? 1 : 2;
    std::uint32_t& reported = status == 0 ? reported_successes_ : reported_failures_;
    if (reported == most) return;
    ++reported;
    const std::string name = node_name();
    EndedTask task{.status = status, .who = "a task on " + name};
    const Framework& framework = *enabled_step_->request.framework;
    if (const auto rank = rank_of(local)) {
        task.who = formatted("rank {} on {}", rank->value, name);
    } else if (!framework.launchers.empty()) {
        task.who = formatted("{} on {}", framework.launchers.front(), name);
    }
    const AsUser as_user(spank);
    if (!as_user.is_user()) return;
    if (status != 0) {
        task.memory = out_of_memory_text(read_trimmed("/proc/self/cgroup").value_or(""));
    }
    send_to_srun(*enabled_step_->srun, message_of(task));
}

void StepdSide::tell_sampler(spank_t spank, bool is_last) {
    int status = 0;
    const auto task = read_item(spank, S_TASK_GLOBAL_ID);
    if (task && spank_get_item(spank, S_TASK_EXIT_STATUS, &status) == ESPANK_SUCCESS) {
        sampler_.tell_end(*task, status, rank_of(read_item(spank, S_TASK_ID)));
    }
    if (is_last) sampler_.finish();
}

Outcome StepdSide::on_task_exit(spank_t spank) {
    // Lets the next step have the port before this slurmstepd has exited.
    const bool is_last = ++finished_tasks_ == identity_.component.tasks.size();
    if (is_last) claims_.release();
    report_end(spank);
    tell_sampler(spank, is_last);
    // Otherwise the step's other tasks would wait for this one; with KillOnBadExit=0, forever.
    if (!notice_.is_reported() || has_ended_step_) return Outcome::ok;
    has_ended_step_ = true;
    const AsUser as_user(spank);
    signal_step(identity_.job, identity_.step, SIGKILL);
    if (!identity_.heterogeneous) return Outcome::ok;
    // In a heterogeneous job each component has a step of this number in its own job. srun ends all
    // of them when the leader's step has ended.
    const auto leader = het_leader(identity_.job);
    if (leader && *leader != identity_.job) signal_step(*leader, identity_.step, SIGKILL);
    return Outcome::ok;
}

void StepdSide::record_exception(const char* callback, const char* what) noexcept {
    try {
        failure_ = Failure{{callback, what, "please report this"}};
    } catch (const std::exception&) {
        failure_ = Failure{};  // no memory for the text
    }
}

}  // namespace distgpu
