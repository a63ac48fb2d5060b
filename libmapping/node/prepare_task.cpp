#include "node/prepare_task.h"

#include "base/format.h"
#include "base/io/files.h"
#include "mapping/frameworks/framework.h"
#include "mapping/texts/plan_text.h"
#include "mapping/texts/variables.h"
#include "node/task_environment.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace distgpu {
namespace {

std::string port_object(std::uint16_t port, const NodePlan& plan) {
    return formatted("port {} (from {}) on {}", port, port_source_text(plan.rendezvous),
                     plan.node_name);
}

std::string_view claimed_port_remedy(PortSource source) {
    if (source == PortSource::key) return "give each step its own port, or omit port=";
    if (source != PortSource::exported) return port_in_use_remedy(source);
    return "export another MASTER_PORT for each step, or unset it";
}

Error check_error(const StepCheck& check, std::string problem) {
    return {formatted("check: {} on {}", check.command, host_name()), std::move(problem),
            "name the command with command=PATH in plugstack.conf, or leave the key check out"};
}

Result<StepVerdict> verdict_from_status(const StepCheck& check, int status) {
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code == static_cast<int>(ExitCode::done)) return StepVerdict::ready;
    if (code == static_cast<int>(ExitCode::check_failed)) return StepVerdict::not_ready;
    if (code == static_cast<int>(ExitCode::timed_out)) return StepVerdict::incomplete;
    if (code == cannot_start_status) return check_error(check, "cannot be started");
    if (code < 0) return check_error(check, formatted("ended by signal {}", WTERMSIG(status)));
    return check_error(check, formatted("ended with status {}", code));
}

Error watch_error(const StepWatch& watch, std::string problem) {
    return {formatted("watch={}: {} on {}", to_string(watch.watch), watch.command, host_name()),
            std::move(problem), "the step runs without a watch"};
}

// The task's variables that select devices, once its plan is applied.
std::vector<BoundVariable> device_variables_of(const Environment& environment,
                                               const TaskPlan& task) {
    std::vector<BoundVariable> variables;
    for (const std::string_view name : bound_variables()) {
        auto value = environment.get(std::string(name));
        if (!value) continue;
        const bool is_given = std::ranges::any_of(
            task.set, [&](const auto& each) { return each.first == name && each.second == value; });
        variables.push_back({std::string(name), std::move(value), is_given});
    }
    return variables;
}

}  // namespace

std::vector<std::uint16_t> listening_ports(const PlannedTask& task) {
    const std::vector<std::uint16_t>& ports = task.plan.ports;
    if (task.request.framework->ports_on_all_nodes) return ports;
    if (task.request.framework->port_per_task) return {ports[task.local.value]};
    return task.task().rank == GlobalRank{0} ? ports : std::vector<std::uint16_t>{};
}

std::optional<Error> check_ports(const NodePlan& plan, std::span<const std::uint16_t> ports,
                                 std::vector<Error>& warnings) {
    const auto port = std::find_if(ports.begin(), ports.end(), is_port_taken);
    if (port == ports.end()) return std::nullopt;
    Error taken{port_object(*port, plan), "already in use",
                std::string(port_in_use_remedy(plan.rendezvous.port_source))};
    if (plan.rendezvous.port_source != PortSource::exported) return taken;
    warnings.push_back(std::move(taken));
    return std::nullopt;
}

std::optional<Error> claim_ports(const NodePlan& plan, std::span<const std::uint16_t> ports,
                                 const std::string& step, PortClaims& claims) {
    for (const std::uint16_t port : ports) {
        if (const auto holder = claims.claim(port, step)) {
            return Error{port_object(port, plan), formatted("in use by {}", *holder),
                         std::string(claimed_port_remedy(plan.rendezvous.port_source))};
        }
    }
    return std::nullopt;
}

void print_to_stderr(const std::string& lines) {
    static_cast<void>(write_all(STDERR_FILENO, lines + '\n'));
}

Result<std::string> prepare_task(const PlannedTask& task, std::string_view spec,
                                 TaskProcess& process) {
    StartupOutput texts =
        startup_output(task.request, task.layout, task.facts, task.plan, task.local,
                       task.printed_by_srun, task.is_first_of_component);
    if (!texts.table.empty()) process.print_table(texts.table);
    for (const std::string& line : texts.lines) process.print_line(line);
    if (!texts.dry_run.empty()) return std::move(texts.dry_run);
    const auto& binding = task.task().binding;
    if (binding && binding->cpus != task.facts.share.masks[task.local.value] &&
        !process.restrict_to(binding->cpus)) {
        process.print_line(
            formatted("distgpu: rank {}: the kernel refused CPUs {}; they stay as they were",
                      task.task().rank.value, binding->cpus.to_string()));
    }
    return set_task_environment(process.environment, spec, task.plan, task.local)
        .transform([&](std::monostate) {
            const auto variables = device_variables_of(process.environment, task.task());
            // The task does not need this variable, so a failure to set it is ignored.
            process.environment.set(bound_variable,
                                    bound_record_text(own_cpus(), task.facts, variables));
            return std::string{};
        });
}

Result<StepVerdict> run_step_check(HostHelper& helper, const StepCheck& check,
                                   const Environment& own, const Environment& task) {
    // The check takes less than this beyond its patience.
    constexpr std::chrono::seconds margin{30};
    std::vector<std::string> words{check.command, "check", "--gate", "--variables=/proc/self/fd/0",
                                   formatted("--timeout={}", check.patience.count())};
    if (check.in_container) words.emplace_back("--in-container");
    const HostProgram program{
        .words = std::move(words),
        .environment = own,
        .ld_variables = check.ld_variables,
        .input_variables = &task,
    };
    const auto status = helper.run(program, check.patience + margin);
    if (!status) return check_error(check, status.error().problem);
    return verdict_from_status(check, *status);
}

bool has_task_parent(const Request& request) {
    return request.signal.value_or(SignalChoice{}).on && request.framework->service == nullptr;
}

void allow_tracing() {
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
}

Result<std::monostate> start_step_watch(HostHelper& helper, const StepWatch& watch,
                                        const Environment& environment) {
    const auto task = static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0));
    if (task < 0) return watch_error(watch, formatted("needs Linux 5.3: {}", std::strerror(errno)));
    const HostProgram program{
        .words = {watch.command, "why", watch.step, "--watch", to_string(watch.watch, "m")},
        .environment = environment,
        .ld_variables = watch.ld_variables,
    };
    const auto started = helper.start_detached(program, task);
    close(task);
    if (!started) return watch_error(watch, started.error().problem);
    return std::monostate{};
}

}  // namespace distgpu
