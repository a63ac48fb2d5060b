// `distgpu exec`: runs a program as a task that the plugin prepared would run, without the plugin.
#include "base/excerpt.h"
#include "base/format.h"
#include "exec/supervision_of.h"
#include "mapping/frameworks/framework.h"
#include "mapping/plan/listening_ports.h"
#include "mapping/request/request.h"
#include "mapping/spec/parse_spec.h"
#include "mapping/texts/variables.h"
#include "node/address_check.h"
#include "node/machine.h"
#include "node/own_task.h"
#include "node/port_check.h"
#include "node/prepare_task.h"
#include "node/process_environment.h"
#include "node/step_check.h"
#include "node/step_watch.h"
#include "node/task_environment.h"
#include "node/task_variables.h"
#include "output.h"
#include "slurm/shell_words.h"
#include "subcommands.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

struct Arguments {
    std::string spec;
    std::vector<std::string> program;
    std::string head_options;    // of the companion on rank 0's node, as a shell reads them
    std::string worker_options;  // of those on the others
};

std::vector<std::string> shell_words_of(const std::string& text) {
    const auto commands = shell_commands(text);
    return commands.empty() ? std::vector<std::string>{} : commands.front().words;
}

// Becomes the program; returns only where it cannot.
ExitCode become(const std::vector<std::string>& program) {
    std::vector<char*> arguments;
    arguments.reserve(program.size() + 1);
    for (const std::string& argument : program) {
        arguments.push_back(const_cast<char*>(argument.c_str()));  // execvp() does not change them
    }
    arguments.push_back(nullptr);
    execvp(arguments.front(), arguments.data());
    const int problem = errno;
    const bool missing = problem == ENOENT;
    return complain({program.front(), std::strerror(problem), "name a program that can be run"},
                    missing ? ExitCode::not_found : ExitCode::not_executable);
}

// A process alone looks for a port on which nobody listens, and may never meet another.
std::optional<Error> claim(const OwnTask& own, const std::vector<std::uint16_t>& ports,
                           PortClaims& claims) {
    const Place& place = own.place;
    if (place.launcher == Launcher::none) return std::nullopt;
    // Two runs of mpirun in one job have the same number.
    const std::string step = place.launcher == Launcher::slurm
                                 ? formatted("{}.{}", place.step.job, place.step.step)
                                 : formatted("process {}", getpid());
    return claim_ports(own.plan, ports, step, claims);
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
    auto error = claim(own, ports, claims);
    if (!error) error = check_ports(own.plan, ports, warnings);
    if (error) {
        return complain(*error, ExitCode::exec_failed);
    }
    if (task.task().rank == GlobalRank{0}) {
        for (const Error& warning : warnings) say(warning.message());
    }
    TaskProcess process{environment, say};
    const auto prepared = prepare_task(task, spec, process);
    if (!prepared) return complain(prepared.error(), ExitCode::exec_failed);
    if (prepared->empty()) return std::nullopt;
    const auto printed = print(*prepared);
    return printed ? ExitCode::done : complain(printed.error(), ExitCode::exec_failed);
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
    const StepId& step = own.place.step;
    if (own.place.launcher != Launcher::slurm) {
        return say(
            formatted("distgpu: watch={}: only for tasks of srun; the program starts without",
                      to_string(watch)));
    }
    const StepWatch wanted{.command = own_command(),
                           .linker = Linker::kept,
                           .watch = watch,
                           .step = formatted("{}.{}", step.job, step.step)};
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
    const auto said = [](const std::optional<std::string>& value) {
        return value ? *value : std::string("nothing");
    };
    return {difference.name,
            formatted("the task was prepared with {}, but distgpu exec computed {}",
                      said(difference.present), said(difference.planned)),
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
        if (!meeting_point || check_port(meeting_point->port) != PortState::taken) break;
        ++facts.step.step;
    }
    return facts.step;
}

// As srun sees it.
std::vector<std::string> command_line(const Arguments& arguments) {
    std::vector<std::string> words{"distgpu", "exec", "--"};
    words.insert(words.end(), arguments.program.begin(), arguments.program.end());
    return words;
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
    const auto extra = shell_words_of(is_head ? arguments.head_options : arguments.worker_options);
    supervision.parts.companion.insert(supervision.parts.companion.end(), extra.begin(),
                                       extra.end());
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
Result<Request> wanted(const Arguments& arguments, const ProcessEnvironment& environment) {
    if (!arguments.spec.empty()) return parse_spec("", arguments.spec);
    if (const auto prepared = prepared_spec(environment)) return parse_spec("--distgpu", *prepared);
    return Error{"SPEC", "left out, but no srun --distgpu=SPEC prepared this task",
                 formatted("write distgpu exec SPEC -- {}", excerpt(arguments.program.front()))};
}

ExitCode run_exec(const Arguments& arguments) {
    ProcessEnvironment environment;
    auto request = wanted(arguments, environment);
    if (!request) return complain(request.error(), ExitCode::exec_failed);
    if (request->help) {
        const auto printed = print(spec_help());
        return printed ? ExitCode::done : complain(printed.error(), ExitCode::exec_failed);
    }
    if (request->framework == nullptr) return become(arguments.program);  // `off`
    auto place = find_place(environment, host_name(), ask_slurm(environment));
    if (!place) return complain(place.error(), ExitCode::exec_failed);
    if (place->launcher == Launcher::none && !prepared_spec(environment)) {
        place->step = step_with_free_port(*request, place->layout);
    }
    const auto prepared = prepared_spec(environment);
    const auto other =
        prepared ? other_order(*request, *prepared, place->layout) : std::optional<Error>();
    const auto order = order_nodes(*request, *place, environment);
    const std::vector<std::string> program = command_line(arguments);
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
    if (prepared_spec(environment)) {
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
    return {.name = "exec",
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
                        {.name = "--head-options",
                         .target = &arguments->head_options,
                         .help = "ray: further options of ray start on the first node, in one word",
                         .type = "TEXT"},
                        {.name = "--worker-options",
                         .target = &arguments->worker_options,
                         .help = "ray: the same on the other nodes",
                         .type = "TEXT"}},
            .run = [arguments] { return run_exec(*arguments); },
            .refused = ExitCode::exec_failed};  // it must not look like the program's
}

}  // namespace distgpu
