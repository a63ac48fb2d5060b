#include "base/format.h"
#include "base/io/files.h"
#include "mapping/frameworks/service.h"
#include "mapping/plan/plan.h"
#include "mapping/texts/variables.h"
#include "node/prepare_task.h"
#include "node/step_variables.h"
#include "node/task_environment.h"
#include "node/verbose_rows.h"
#include "slurm_calls.h"
#include "stepd_side.h"

#include <array>
#include <climits>
#include <cstdlib>
#include <unistd.h>

namespace distgpu {
namespace {

// Whether another plugin has put this task into a container.
bool is_in_container(const EnabledStep& enabled) {
    return enabled.root != file_root();
}

bool needs_check(const Request& request) {
    return request.check.value_or(CheckChoice::off) != CheckChoice::off;
}

// Runs the check on the host: the helper there starts the program.
Result<StepVerdict> run_check(spank_t spank, const EnabledStep& enabled, HostAccess& host) {
    if (!host.helper) {
        const Error& error = host.helper.error();
        return Error{formatted("check: {} on {}", enabled.command, node_name()), error.problem,
                     error.remedy};
    }
    StepCheck check{.command = enabled.command};
    // Nodes may take very different times to unpack the image.
    check.in_container = is_in_container(enabled);
    if (check.in_container) check.patience = std::chrono::seconds(300);
    return run_step_check(*host.helper, check, host.variables, StepVariables(spank));
}

// The key check: runs the step's check before the program starts.
std::optional<Failure> check_step(spank_t spank, const EnabledStep& enabled,
                                  std::optional<HostAccess>& host, const TaskIdentity& task) {
    if (!host || !needs_check(enabled.request)) return std::nullopt;
    const auto verdict = run_check(spank, enabled, *host);
    if (verdict && *verdict == StepVerdict::ready) return std::nullopt;
    if (*enabled.request.check == CheckChoice::stop) {
        if (!verdict) return Failure{verdict.error()};
        return Failure{{formatted("--distgpu={}", excerpt(enabled.spec)),
                        "the check found the step not ready, so the program did not start",
                        "see its messages above; check=warn starts the program anyway"},
                       *verdict == StepVerdict::not_ready};
    }
    if (!verdict) print_to_user(verdict.error().message());
    if (task.task() == TaskId{0}) print_to_user("distgpu: check=warn: the program starts anyway");
    return std::nullopt;
}

bool runs_watch(const EnabledStep& enabled, NodeIndex node, LocalRank local) {
    return watch_of(enabled.request).minutes > 0 &&
           enabled.step.layout.rank(node, local) == GlobalRank{0};
}

// The key watch. The step runs even if the watch does not start.
void start_watch(const EnabledStep& enabled, std::optional<HostAccess>& host,
                 const TaskIdentity& task) {
    const Watch watch = watch_of(enabled.request);
    if (watch.on) allow_tracing();
    if (!host || !runs_watch(enabled, task.node.node, task.local)) return;
    const StepWatch step_watch{
        .command = enabled.command,
        .watch = watch,
        .step = formatted("{}.{}", enabled.identity.job, enabled.identity.step)};
    const Result<std::monostate> started =
        host->helper ? start_step_watch(*host->helper, step_watch, host->variables)
                     : Result<std::monostate>(host->helper.error());
    if (!started) print_to_user(started.error().message());
}

// Prepends `distgpu exec` if the user left it out and Slurm can prepend it.
std::optional<Failure> prepend_exec(spank_t spank, const EnabledStep& enabled) {
    const StepFacts& facts = enabled.step.facts;
    const StepView step{enabled.request, enabled.step.layout, facts, facts.node_addresses};
    if (!contract::lacks_exec(step)) return std::nullopt;
    // An image may lack the command.
    const bool has_command = access(enabled.command.c_str(), X_OK) == 0;
    if (has_command && prepend_to_program(spank, {enabled.command, "exec", "--"})) {
        return std::nullopt;
    }
    return Failure{contract::missing_exec_error(step)};
}

// Returns what dry-run prints; empty if the program is to run.
Result<std::string> prepare_own_task(spank_t spank, const EnabledStep& enabled,
                                     const StepBinding& binding, const TaskIdentity& task) {
    const StepLayout& layout = enabled.step.layout;
    if (auto mismatch = check_layout(layout, task.node)) return *std::move(mismatch);
    StepVariables variables(spank);
    std::vector<ContainerSetting> settings;
    if (is_in_container(enabled)) {
        // Restores Slurm's own numbers over a container's.
        variables.set("SLURM_PROCID", std::to_string(task.task().value));
        variables.set("SLURM_LOCALID", std::to_string(task.local.value));
        variables.set("SLURM_NODEID", std::to_string(task.node.node.value));
        settings = restore_launch_variables(variables, enabled.launch);
    }
    NodeFacts facts = binding.facts_of(spank, enabled.launch, task.local);
    facts.node = task.node.node;
    if (enabled.sent.gpus > 0) facts.gpus_of_step = enabled.sent.gpus;
    facts.address = enabled.own_address;
    facts.has_cpu_bind = enabled.sent.cpu_bind;
    facts.slurm_manages_gpus = allocates_gpus();
    const auto& component_tasks = enabled.identity.component.tasks;
    const bool is_first_of_component = enabled.identity.heterogeneous &&
                                       task.local == LocalRank{0} &&
                                       component_tasks.front() == ComponentTaskId{0};
    return plan(enabled.request, enabled.step, facts).and_then([&](const NodePlan& node_plan) {
        const TaskPlan& own = node_plan.tasks[task.local.value];
        // The container's differences are printed once, and recorded for `distgpu check`.
        const ContainerNotes notes = container_notes(settings, own);
        variables.unset(container_variable);
        if (!notes.variable_value.empty()) variables.set(container_variable, notes.variable_value);
        if ((enabled.request.verbose || enabled.request.dry_run) && own.rank == GlobalRank{0}) {
            for (const std::string& line : notes.lines) print_to_user(line);
        }
        set_layout_variable(variables, layout);
        TaskProcess process{variables, print_to_user};
        process.print_table = [&](const std::string& rows) {
            const bool is_sent = enabled.srun && send_to_srun(*enabled.srun, message_of_rows(rows));
            if (!is_sent) print_to_stderr(rows);
        };
        return prepare_task({enabled.request, layout, facts, node_plan, task.local,
                             enabled.printed_by_srun, is_first_of_component},
                            enabled.spec, process);
    });
}

}  // namespace

bool needs_host_access(spank_t spank, const EnabledStep& enabled) {
    if (needs_check(enabled.request)) return true;
    const NodeIdentity& identity = enabled.identity;
    const auto local = read_item(spank, S_TASK_ID);
    if (has_report(enabled) && local == 0U) return true;
    // Heterogeneous steps have no watch.
    return local && *local < identity.component.tasks.size() && !identity.heterogeneous &&
           runs_watch(enabled, identity.whole().node, LocalRank{*local});
}

HostAccess open_host_access(spank_t spank) {
    const auto user = step_user(spank);
    if (!user) return {Error{"", "Slurm does not report the job's user", ""}};
    HostAccess host{.helper = HostHelper::start(user)};
    std::array<char, PATH_MAX> folder{};
    if (getcwd(folder.data(), folder.size()) != nullptr) host.folder = folder.data();
    host.variables = StepVariables(spank).copy();
    // In a batch job's steps the inherited value is the batch host's.
    host.variables.set("SLURMD_NODENAME", node_name());
    return host;
}

std::optional<Failure> start_task(spank_t spank, const EnabledStep& enabled,
                                  const StepBinding& binding, std::optional<HostAccess>& host,
                                  const UniqueFd& task_parent, const SamplerControl& control) {
    const auto task =
        read_task_identity(spank, enabled.identity, enabled.offsets, is_in_container(enabled));
    if (!task) return Failure{task.error()};
    const auto prepared = prepare_own_task(spank, enabled, binding, *task);
    if (!prepared) return Failure{prepared.error()};
    if (!prepared->empty()) {
        _exit(write_all(STDOUT_FILENO, *prepared) ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    if (auto failure = prepend_exec(spank, enabled)) return failure;
    if (auto failure = check_step(spank, enabled, host, *task)) return failure;
    if (has_task_parent(enabled)) {
        const auto error = fork_program(spank, enabled, task_parent, task->task());
        if (error && task->task() == TaskId{0}) print_to_user(error->message());
    }
    if (host) start_report(enabled, *host, *task, control);
    start_watch(enabled, host, *task);
    return std::nullopt;
}

}  // namespace distgpu
