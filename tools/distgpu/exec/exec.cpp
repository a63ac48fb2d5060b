// `distgpu exec`: runs a program as a task that the plugin prepared would run, without the plugin.
#include "base/format.h"
#include "base/shell_words.h"
#include "command_line.h"
#include "exec/supervise.h"
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
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace distgpu {
namespace {

struct Arguments {
    std::string spec;
    std::vector<std::string> program;
    std::string head_options;    // of the companion on rank 0's node, as a shell reads them
    std::string worker_options;  // of those on the others
};

// Prints what was asked for in place of running the program.
ExitCode print_instead(const std::string& text) {
    const auto printed = print(text);
    return printed ? ExitCode::done : complain(printed.error(), ExitCode::exec_failed);
}

// Becomes the program; returns only where it cannot.
ExitCode become(const std::vector<std::string>& program) {
    const int problem = replace_process(program);
    const ExitCode code = problem == ENOENT ? ExitCode::not_found : ExitCode::not_executable;
    return complain({program.front(), std::strerror(problem), "name a program that can be run"},
                    code);
}

// Prepares this process; the code to end with, where no program shall run.
std::optional<ExitCode> prepare(const OwnTask& own, const std::string& spec,
                                ProcessEnvironment& environment, PortClaims& claims) {
    const PlannedTask task{own.request, own.place.layout, own.facts, own.plan, own.place.local};
    std::vector<Error> warnings = own.node.warnings;
    if (task.task().rank == GlobalRank{0}) {
        RendezvousFacts facts;
        facts.rank0_address = own.place.rank0_address;
        facts.exported_address = exported(environment, "MASTER_ADDR");
        if (auto error = check_address(own.request, own.place.layout, facts, warnings)) {
            // Without any address, nobody would know rank 0's node.
            if (!own.place.knows_hosts) error->remedy = "give the address of rank 0's node";
            return complain(*error, ExitCode::exec_failed);
        }
    }
    // The other tasks' ports may be in use by those already.
    const std::vector<std::uint16_t> ports = ports_of(task);
    std::optional<Error> error;
    // A process alone looks for a port on which nobody listens, and may never meet another.
    if (own.place.launcher != Launcher::none) {
        // Two runs of mpirun in one job have the same number.
        const std::string step = own.place.launcher == Launcher::slurm
                                     ? step_name(own)
                                     : formatted("process {}", getpid());
        error = claim_ports(own.plan, ports, step, claims);
    }
    if (!error) error = check_ports(own.plan, ports, warnings);
    if (error) return complain(*error, ExitCode::exec_failed);
    if (task.task().rank == GlobalRank{0}) {
        for (const Error& warning : warnings) say(warning.message());
    }
    TaskProcess process{environment, say};
    const auto prepared = prepare_task(task, spec, process);
    if (!prepared) return complain(prepared.error(), ExitCode::exec_failed);
    return prepared->empty() ? std::nullopt : std::optional(print_instead(*prepared));
}

// The key check; the code to end with, where the program shall not run.
std::optional<ExitCode> check_step(const Request& request, const Environment& environment) {
    const CheckChoice choice = request.check.value_or(CheckChoice::off);
    if (choice == CheckChoice::off) return std::nullopt;
    const StepCheck check{.command = own_command(), .linker = Linker::kept};
    const auto verdict = HostHelper::start({}).and_then(
        [&](HostHelper helper) { return run_step_check(helper, check, environment, environment); });
    if (verdict && *verdict == StepVerdict::ready) return std::nullopt;
    if (!verdict) complain(verdict.error(), ExitCode::exec_failed);
    if (choice == CheckChoice::warn) return std::nullopt;
    return verdict ? ExitCode::check_failed : ExitCode::exec_failed;
}

// The key watch, which needs a step of Slurm's to ask for.
void watch_step(const OwnTask& own, const Environment& environment) {
    const Watch watch = watch_of(own.request);
    if (watch.on) allow_looks();
    if (watch.minutes == 0 || own.task().rank != GlobalRank{0}) return;
    if (own.place.launcher != Launcher::slurm) {
        return say(
            formatted("distgpu: watch={}: only for tasks of srun; the program starts without",
                      to_string(watch)));
    }
    const StepWatch wanted{
        .command = own_command(), .linker = Linker::kept, .watch = watch, .step = step_name(own)};
    const auto started = HostHelper::start({}).and_then(
        [&](HostHelper helper) { return start_step_watch(helper, wanted, environment); });
    if (!started) complain(started.error(), ExitCode::exec_failed);
}

// The order that the step has, which cannot be changed behind srun, and another one behind exec.
// `prepared`: what the step was prepared with.
std::optional<Error> other_order(const Request& request, const std::string& prepared,
                                 const StepLayout& layout) {
    if (!request.order || layout.order().empty()) return std::nullopt;
    const auto first = parse_spec("--distgpu", prepared);
    // Without a word of the user's it is the site's, which can only be this one.
    const RankOrder order =
        first && first->order ? *first->order : RankOrder{RankOrder::Source::switches};
    if (order == *request.order) return std::nullopt;
    return Error{formatted("order={}", excerpt(to_string(*request.order))),
                 formatted("the step already has order={}", excerpt(to_string(order))),
                 formatted("give it to srun {}, and leave it out here", option_of(request))};
}

// With the plugin, or another exec, which prepared the task already.
Error disagreement(const Difference& difference) {
    return {
        difference.name,
        formatted("the task was prepared with {}, but distgpu exec computed {}",
                  difference.present.value_or("nothing"), difference.planned.value_or("nothing")),
        formatted("use one of the two with one mode, or unset {}", prepared_variable)};
}

// A process alone has no job whose number keeps its port apart from another's: the first of the
// ports that such steps have, one after the other, on which nobody listens.
StepId step_with_free_port(const Request& request, const StepLayout& layout) {
    constexpr std::uint32_t most = 64;
    const RendezvousNeeds needs = rendezvous_needs(*request.framework, layout);
    RendezvousFacts facts;
    while (facts.step.step < most) {
        const auto meeting_point = rendezvous(request, facts, needs);
        if (!meeting_point || !is_port_taken(meeting_point->port)) break;
        ++facts.step.step;
    }
    return facts.step;
}

// Becomes the program, or stays beside one that has to be watched.
ExitCode start(const Arguments& arguments, const OwnTask& own, ProcessEnvironment& environment) {
    const Service* const service = own.request.framework->service;
    const bool has_extra = !arguments.head_options.empty() || !arguments.worker_options.empty();
    if (has_extra && (service == nullptr || service->companion.empty())) {
        return complain(
            {"--head-options, --worker-options",
             formatted("{} starts no cluster", option_of(own.request)), "leave them out"},
            ExitCode::exec_failed);
    }
    if (service == nullptr) return become(arguments.program);
    Supervision supervision = supervision_of(own, arguments.program, environment);
    const bool is_head = own.task().rank == GlobalRank{0};
    const auto extra = shell_commands(is_head ? arguments.head_options : arguments.worker_options);
    if (!extra.empty()) {
        std::vector<std::string>& companion = supervision.parts.companion;
        companion.insert(companion.end(), extra.front().words.begin(), extra.front().words.end());
    }
    return supervise(supervision);
}

// The code of a task that starts nothing. The servers of the other nodes would wait for rank 0's.
ExitCode give_up(ExitCode code, const OwnTask& own, const Environment& environment) {
    const bool is_awaited = own.request.framework->service != nullptr &&
                            own.place.layout.node_count() > 1 && own.task().rank == GlobalRank{0};
    const auto end = code == ExitCode::done || !is_awaited ? nullptr : step_end(own, environment);
    if (end) end();
    return code;
}

// What the user wrote, or what srun was asked for. Errors: neither; as parse_spec().
Result<Request> wanted(const Arguments& arguments, const std::optional<std::string>& prepared) {
    if (!arguments.spec.empty()) return parse_spec("", arguments.spec);
    if (prepared) return parse_spec("--distgpu", *prepared);
    return Error{"SPEC", "left out, but no srun --distgpu=SPEC prepared this task",
                 formatted("write distgpu exec SPEC -- {}", excerpt(arguments.program.front()))};
}

ExitCode run_exec(const Arguments& arguments) {
    ProcessEnvironment environment;
    const auto prepared = prepared_spec(environment);
    auto request = wanted(arguments, prepared);
    if (!request) return complain(request.error(), ExitCode::exec_failed);
    if (request->help) return print_instead(spec_help());
    if (request->framework == nullptr) return become(arguments.program);  // `off`
    auto place = find_place(environment, host_name(), ask_slurm(environment));
    if (!place) return complain(place.error(), ExitCode::exec_failed);
    if (place->launcher == Launcher::none && !prepared) {
        place->step = step_with_free_port(*request, place->layout);
    }
    const auto other =
        prepared ? other_order(*request, *prepared, place->layout) : std::optional<Error>();
    const auto order = order_nodes(*request, *place, environment);
    std::vector<std::string> program{"distgpu", "exec", "--"};  // as srun sees it
    program.insert(program.end(), arguments.program.begin(), arguments.program.end());
    const auto error = other   ? other
                       : order ? refused(*request, *place, environment, program)
                               : order.error();
    const bool first = place->layout.rank(place->node, place->local) == GlobalRank{0};
    if (error) return first ? complain(*error, ExitCode::exec_failed) : ExitCode::exec_failed;
    if (first && (request->verbose || request->dry_run) && !order->empty()) {
        say("distgpu: " + *order);
    }
    const auto own = plan_own_task(*std::move(request), *std::move(place), environment, program);
    if (!own) return complain(own.error(), ExitCode::exec_failed);
    if (prepared) {
        const auto differing = differences(environment, own->task());
        if (differing.empty()) return start(arguments, *own, environment);
        return give_up(complain(disagreement(differing.front()), ExitCode::exec_failed), *own,
                       environment);
    }
    PortClaims claims(PortClaims::Heirs::programs);
    if (const auto end = prepare(*own, arguments.spec, environment, claims)) {
        return give_up(*end, *own, environment);
    }
    if (const auto end = check_step(own->request, environment)) return *end;
    watch_step(*own, environment);
    return start(arguments, *own, environment);
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
                     .may_be_left_out = true},
                    {.name = "PROGRAM",
                     .target = &arguments->program,
                     .help = "The program and its arguments, after --",
                     .required = true},
                    {"--head-options", &arguments->head_options,
                     "ray: further options of ray start on the first node, in one word", "TEXT"},
                    {"--worker-options", &arguments->worker_options,
                     "ray: the same on the other nodes", "TEXT"}},
        .run = [arguments] { return run_exec(*arguments); },
        .refused = ExitCode::exec_failed};  // it must not look like the program's
}

}  // namespace distgpu
