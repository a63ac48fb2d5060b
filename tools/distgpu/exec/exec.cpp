// `distgpu exec`: prepares a task as the plugin would, without the plugin, and runs its program.
#include "base/format.h"
#include "base/io/signal_block.h"
#include "base/shell_words.h"
#include "command_line.h"
#include "exec/supervise.h"
#include "inspect/task_parent.h"
#include "mapping/frameworks/framework.h"
#include "mapping/plan/plan.h"
#include "mapping/request/request.h"
#include "mapping/spec/parse_spec.h"
#include "mapping/texts/variables.h"
#include "node/machine.h"
#include "node/network.h"
#include "node/prepare_task.h"
#include "node/task_environment.h"
#include "output.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/prctl.h>
#include <unistd.h>

namespace distgpu {
namespace {

struct Arguments {
    std::string spec;
    std::vector<std::string> program;
    std::string head_options;    // for the companion on rank 0's node, in shell syntax
    std::string worker_options;  // for the companions on other nodes
};

// Prints a text instead of running the program.
ExitCode print_instead(const std::string& text) {
    const auto printed = print(text);
    return printed ? ExitCode::done : report_error(printed.error(), ExitCode::exec_failed);
}

// Replaces this process by the program; returns only on an error.
ExitCode exec_program(const std::vector<std::string>& program) {
    const int problem = replace_process(program);
    const ExitCode code = problem == ENOENT ? ExitCode::not_found : ExitCode::not_executable;
    return report_error({program.front(), std::strerror(problem), "name a program that can be run"},
                        code);
}

// Prepares this process. Returns a code to exit with if the program is not to be run.
std::optional<ExitCode> prepare(const OwnTask& own_task, const std::string& spec,
                                ProcessEnvironment& environment, PortClaims& claims) {
    const PlannedTask task{own_task.request, own_task.place.layout, own_task.facts, own_task.plan,
                           own_task.place.local};
    std::vector<Error> warnings = own_task.node.warnings;
    if (task.task().rank == GlobalRank{0}) {
        RendezvousFacts facts;
        facts.rank0_address = own_task.place.rank0_address;
        facts.exported_address = exported(environment, "MASTER_ADDR");
        if (auto error = check_address(own_task.request, own_task.place.layout, facts, warnings)) {
            // If no host names are known, the user has to give an address.
            if (!own_task.place.knows_hosts) error->remedy = "give the address of rank 0's node";
            return report_error(*error, ExitCode::exec_failed);
        }
    }
    // Only this task's ports: the other tasks may already use theirs.
    const std::vector<std::uint16_t> ports = listening_ports(task);
    std::optional<Error> error;
    // A single process chooses a free port, and may never listen on it.
    if (own_task.place.launcher != Launcher::none) {
        // Two runs of mpirun in one job have the same step ID.
        const std::string step = own_task.place.launcher == Launcher::slurm
                                     ? step_name(own_task)
                                     : formatted("process {}", getpid());
        error = claim_ports(own_task.plan, ports, step, claims);
    }
    if (!error) error = check_ports(own_task.plan, ports, warnings);
    if (error) return report_error(*error, ExitCode::exec_failed);
    if (task.task().rank == GlobalRank{0}) {
        for (const Error& warning : warnings) print_error_line(warning.message());
    }
    TaskProcess process{environment, print_error_line};
    const auto prepared = prepare_task(task, spec, process);
    if (!prepared) return report_error(prepared.error(), ExitCode::exec_failed);
    return prepared->empty() ? std::nullopt : std::optional(print_instead(*prepared));
}

// Applies the key `check`. Returns a code to exit with if the program is not to be run.
std::optional<ExitCode> check_step(const Request& request, const Environment& environment) {
    const CheckChoice choice = request.check.value_or(CheckChoice::off);
    if (choice == CheckChoice::off) return std::nullopt;
    const StepCheck check{.command = own_program_path(), .ld_variables = LdVariables::kept};
    const auto verdict = HostHelper::start({}).and_then(
        [&](HostHelper helper) { return run_step_check(helper, check, environment, environment); });
    if (verdict && *verdict == StepVerdict::ready) return std::nullopt;
    if (!verdict) report_error(verdict.error(), ExitCode::exec_failed);
    if (choice == CheckChoice::warn) return std::nullopt;
    return verdict ? ExitCode::check_failed : ExitCode::exec_failed;
}

// The key `report` needs slurmstepd, which knows how the tasks end.
void refuse_report(const OwnTask& own_task) {
    const bool is_on = own_task.request.report.value_or(ReportChoice{}).on;
    if (!is_on || own_task.task().rank != GlobalRank{0}) return;
    print_error_line("distgpu: report: only with srun --distgpu; the program starts without it");
}

// Applies the key `watch`, which works only for steps of Slurm.
void start_watch(const OwnTask& own_task, const Environment& environment) {
    const Watch watch = watch_of(own_task.request);
    if (watch.on) allow_tracing();
    if (watch.minutes == 0 || own_task.task().rank != GlobalRank{0}) return;
    if (own_task.place.launcher != Launcher::slurm) {
        return print_error_line(
            formatted("distgpu: watch={}: only for tasks of srun; the program starts without it",
                      to_string(watch)));
    }
    const StepWatch step_watch{.command = own_program_path(),
                               .ld_variables = LdVariables::kept,
                               .watch = watch,
                               .step = step_name(own_task)};
    const auto started = HostHelper::start({}).and_then(
        [&](HostHelper helper) { return start_step_watch(helper, step_watch, environment); });
    if (!started) report_error(started.error(), ExitCode::exec_failed);
}

// Applies the key signal: this process stays, as the parent of the program, and the call returns in
// a child.
void fork_program(const OwnTask& own_task) {
    if (!has_task_parent(own_task.request)) return;
    const pid_t parent = getpid();
    // A signal to the process group would otherwise end the parent before it handles signals.
    const SignalBlock block;
    const pid_t program = fork();
    if (program > 0) be_task_parent(program, own_task.task().rank.value);
    if (program < 0) {
        report_error({"signal", std::strerror(errno), "the program gets Slurm's signals itself"},
                     ExitCode::exec_failed);
        return;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(EXIT_FAILURE);
}

// An error if `request` has another node order than the step, which only srun can set. `prepared`:
// the spec with which the step was prepared.
std::optional<Error> order_conflict(const Request& request, const std::string& prepared,
                                    const StepLayout& layout) {
    if (!request.order || layout.order().empty()) return std::nullopt;
    const auto first = parse_spec("--distgpu", prepared);
    // Without order= from the user it is the site's, which can only be this one.
    const RankOrder order =
        first && first->order ? *first->order : RankOrder{RankOrder::Source::switches};
    if (order == *request.order) return std::nullopt;
    return Error{formatted("order={}", excerpt(to_string(*request.order))),
                 formatted("the step already has order={}", excerpt(to_string(order))),
                 formatted("give it to srun {}, and leave it out here", option_of(request))};
}

// If the plugin, or another exec, prepared the task differently.
Error preparation_conflict(const Difference& difference) {
    return {
        difference.name,
        formatted("the task was prepared with {}, but distgpu exec computed {}",
                  difference.present.value_or("no value"), difference.planned.value_or("no value")),
        formatted("prepare the task only once, or unset {}", prepared_variable)};
}

// For a single process, which has no job ID from which to derive a port: the first of 64 step IDs
// whose port is free.
StepId step_with_free_port(const Request& request, const StepLayout& layout) {
    constexpr std::uint32_t max_steps = 64;
    const RendezvousNeeds needs = rendezvous_needs(*request.framework, layout);
    RendezvousFacts facts;
    while (facts.step.step < max_steps) {
        const auto chosen = choose_rendezvous(request, facts, needs);
        if (!chosen || !is_port_taken(chosen->port)) break;
        ++facts.step.step;
    }
    return facts.step;
}

// Executes the program, or supervises the processes of a service.
ExitCode run_program(const Arguments& arguments, const OwnTask& own_task,
                     ProcessEnvironment& environment) {
    const Service* const service = own_task.request.framework->service;
    const bool has_extra_options =
        !arguments.head_options.empty() || !arguments.worker_options.empty();
    if (has_extra_options && (service == nullptr || service->companion.empty())) {
        return report_error(
            {"--head-options, --worker-options",
             formatted("{} starts no cluster", option_of(own_task.request)), "leave them out"},
            ExitCode::exec_failed);
    }
    if (service == nullptr) return exec_program(arguments.program);
    Supervision supervision = make_supervision(own_task, arguments.program, environment);
    const bool is_head = own_task.task().rank == GlobalRank{0};
    const auto extra = shell_commands(is_head ? arguments.head_options : arguments.worker_options);
    if (!extra.empty()) {
        std::vector<std::string>& companion = supervision.commands.companion;
        companion.insert(companion.end(), extra.front().words.begin(), extra.front().words.end());
    }
    return supervise(supervision);
}

// Returns the code. If this is the head of a service and it fails, also ends the step, because the
// other nodes would wait for it.
ExitCode exit_without_program(ExitCode code, const OwnTask& own_task,
                              const Environment& environment) {
    const bool is_awaited = own_task.request.framework->service != nullptr &&
                            own_task.place.layout.node_count() > 1 &&
                            own_task.task().rank == GlobalRank{0};
    const auto cancel =
        code == ExitCode::done || !is_awaited ? nullptr : step_canceller(own_task, environment);
    if (cancel) cancel();
    return code;
}

// From the command line, or from the spec given to srun. Errors: no spec; as parse_spec().
Result<Request> read_request(const Arguments& arguments,
                             const std::optional<std::string>& prepared) {
    if (!arguments.spec.empty()) return parse_spec("", arguments.spec);
    if (prepared) return parse_spec("--distgpu", *prepared);
    return Error{"SPEC", "left out, but no srun --distgpu=SPEC prepared this task",
                 formatted("write distgpu exec SPEC -- {}", excerpt(arguments.program.front()))};
}

ExitCode run_exec(const Arguments& arguments) {
    ProcessEnvironment environment;
    const auto prepared = prepared_spec(environment);
    auto request = read_request(arguments, prepared);
    if (!request) return report_error(request.error(), ExitCode::exec_failed);
    if (request->help) return print_instead(spec_help());
    if (request->framework == nullptr) return exec_program(arguments.program);  // `off`
    auto place = find_process_place(environment, host_name(), layout_query(environment));
    if (!place) return report_error(place.error(), ExitCode::exec_failed);
    if (place->launcher == Launcher::none && !prepared) {
        place->step = step_with_free_port(*request, place->layout);
    }
    const auto conflict =
        prepared ? order_conflict(*request, *prepared, place->layout) : std::optional<Error>();
    const auto order = order_nodes(*request, *place, environment);
    std::vector<std::string> program{"distgpu", "exec", "--"};  // as srun sees it
    program.insert(program.end(), arguments.program.begin(), arguments.program.end());
    const auto error = conflict ? conflict
                       : order  ? find_refusal(*request, *place, environment, program)
                                : order.error();
    const bool is_rank0 = place->layout.rank(place->node, place->local) == GlobalRank{0};
    if (error) {
        return is_rank0 ? report_error(*error, ExitCode::exec_failed) : ExitCode::exec_failed;
    }
    if (is_rank0 && (request->verbose || request->dry_run) && !order->empty()) {
        print_error_line("distgpu: " + *order);
    }
    const auto own_task =
        plan_own_task(*std::move(request), *std::move(place), environment, program);
    if (!own_task) return report_error(own_task.error(), ExitCode::exec_failed);
    if (prepared) {
        const auto differing = differences_from_plan(environment, own_task->task());
        if (differing.empty()) return run_program(arguments, *own_task, environment);
        return exit_without_program(
            report_error(preparation_conflict(differing.front()), ExitCode::exec_failed), *own_task,
            environment);
    }
    PortClaims claims(PortClaims::OnExec::keep);
    if (const auto end = prepare(*own_task, arguments.spec, environment, claims)) {
        return exit_without_program(*end, *own_task, environment);
    }
    if (const auto end = check_step(own_task->request, environment)) return *end;
    fork_program(*own_task);
    refuse_report(*own_task);
    start_watch(*own_task, environment);
    return run_program(arguments, *own_task, environment);
}

}  // namespace

Subcommand exec_subcommand() {
    const auto arguments = std::make_shared<Arguments>();
    return {
        .name = "exec",
        .help =
            "Run a program as srun --distgpu=SPEC would, without the plugin: as a task of "
            "srun, mpirun, flux or mpiexec, or alone.",
        .options = {{.name = "SPEC",
                     .target = &arguments->spec,
                     .help = "The value of --distgpu=: MODE[,KEY[=VALUE]]...; by default that "
                             "of srun, in a task that the plugin prepared",
                     .required = true,
                     .can_be_omitted = true},
                    {.name = "PROGRAM",
                     .target = &arguments->program,
                     .help = "The program and its arguments, after --",
                     .required = true},
                    {"--head-options", &arguments->head_options,
                     "ray: further options of ray start on the first node, in one word", "TEXT"},
                    {"--worker-options", &arguments->worker_options,
                     "ray: the same on the other nodes", "TEXT"}},
        .run = [arguments] { return run_exec(*arguments); },
        .usage_exit_code = ExitCode::exec_failed};  // must not look like the program's
}

}  // namespace distgpu
