// `distgpu check`: whether the tasks of this step would find each other, their GPUs and the
// network.
#include "base/environment.h"
#include "base/format.h"
#include "base/io/files.h"
#include "base/values.h"
#include "check/step_check.h"
#include "command_line.h"
#include "mapping/request/request.h"
#include "mapping/spec/parse_spec.h"
#include "node/machine.h"
#include "node/node_topology.h"
#include "node/own_task.h"
#include "node/step_variables.h"
#include "node/task_environment.h"
#include "output.h"

#include <memory>

namespace distgpu {
namespace {

struct Arguments {
    std::string spec;
    std::uint32_t timeout = 20;  // seconds
    bool list = false;
    std::optional<std::string> only;
    std::optional<std::string> skip;
    std::string format = "text";
    bool gate = false;
    std::string variables;  // a file
    bool node = false;
};

// What the checks judge: the variables of a file, as of /proc/PID/environ, else this process's own.
Result<std::shared_ptr<const Environment>> judged_variables(const std::string& path) {
    if (path.empty()) return std::shared_ptr<const Environment>(new ProcessEnvironment);
    return read_file(path, "name a file such as /proc/PID/environ")
        .transform([](const std::string& text) -> std::shared_ptr<const Environment> {
            return std::make_shared<EnvironmentCopy>(EnvironmentCopy::of_block(text));
        });
}

// The SPEC of the command line, else that by which the task was prepared, or should have been.
Result<Request> wanted(const Arguments& arguments, const Environment& environment) {
    if (!arguments.spec.empty()) return parse_spec("", arguments.spec);
    auto spec = prepared_spec(environment);
    if (!spec) spec = unanswered_spec(environment);
    if (spec) return parse_spec("--distgpu", *spec);
    return Error{"distgpu check", "distgpu did not prepare this process, so its mode is unknown",
                 "start it with srun --distgpu=MODE distgpu check, or name the mode: srun distgpu "
                 "check MODE"};
}

// Slurm's commands are those of this process, whatever the judged variables say.
Result<Place> place_in_slurm(const Environment& environment) {
    auto place = find_place(environment, host_name(), ask_slurm(ProcessEnvironment()));
    if (!place || place->launcher == Launcher::slurm) return place;
    return Error{"distgpu check", "this process is not a task of srun",
                 "start it with srun --distgpu=MODE distgpu check"};
}

// What stops all ranks is said by one.
ExitCode stop(const Environment& environment, const Error& error, ExitCode code) {
    return environment.get("SLURM_PROCID").value_or("0") == "0" ? complain(error, code) : code;
}

// What stops the tasks of a node that has not loaded the plugin is said by the first of them: those
// of other nodes may well go on.
ExitCode stop_unplaced(const Environment& environment, const Error& error) {
    if (!unanswered_spec(environment)) return stop(environment, error, ExitCode::environment);
    if (environment.get("SLURM_LOCALID").value_or("0") != "0") return ExitCode::environment;
    Error plugin = no_plugin(environment);
    plugin.object = formatted("{} on {}", plugin.object, host_name());
    return complain(plugin, ExitCode::environment);
}

// One line, which Slurm takes as the reason to drain the node.
ExitCode check_node() {
    const auto faults = check_own_node(default_topology_file);
    if (!faults) return complain(faults.error(), ExitCode::environment);
    const std::string text = faults->empty() ? "all devices are as at boot" : *faults;
    return print_or_complain(formatted("{}: {}\n", short_host_name(), text),
                             faults->empty() ? ExitCode::done : ExitCode::check_failed);
}

ExitCode run_check(const Arguments& arguments) {
    if (arguments.list) return print_or_complain(list_of_checks(), ExitCode::done);
    if (arguments.node) return check_node();

    const Deadline start = Clock::now();
    const std::chrono::seconds timeout(arguments.timeout);
    const Deadline look_deadline = start + timeout / 2;
    const auto judged = judged_variables(arguments.variables);
    if (!judged) return complain(judged.error(), ExitCode::usage);
    const Environment& environment = **judged;
    const auto checks = choose_checks(arguments.only, arguments.skip);
    if (!checks) return stop(environment, checks.error(), ExitCode::usage);
    auto place = place_in_slurm(environment);
    if (!place) return stop_unplaced(environment, place.error());
    auto request = wanted(arguments, environment);
    if (!request) return stop(environment, request.error(), ExitCode::usage);
    if (request->framework == nullptr) {
        return stop(environment,
                    {arguments.spec.empty() ? "--distgpu=off" : arguments.spec, "no mode",
                     "see distgpu vars help"},
                    ExitCode::usage);
    }
    if (const auto ordered = order_nodes(*request, *place, ProcessEnvironment()); !ordered) {
        return stop(environment, ordered.error(), ExitCode::check_failed);
    }
    if (const auto error = refused(*request, *place, environment)) {
        return stop(environment, *error, ExitCode::check_failed);
    }
    const std::string name = host_name();
    auto planned = within(look_deadline, [request = *request, place = *place, judged = *judged] {
        return plan_own_task(request, place, *judged);
    });
    if (!planned) {
        return complain({name, "looking up names and devices did not finish",
                         "check /etc/resolv.conf and the kernel log (dmesg) there"},
                        ExitCode::timed_out);
    }
    if (!*planned) return complain(planned->error(), ExitCode::check_failed);
    const CheckFacts facts{std::make_shared<const OwnTask>(**std::move(planned)), *judged,
                           own_cpus(), look_deadline};
    const auto show = [&](const Verdict& verdict) {
        return print_or_complain(arguments.gate ? verdict_brief(verdict)
                                 : arguments.format == "json"
                                     ? verdict_json(verdict)
                                     : verdict_text(verdict, wants_colour()),
                                 verdict.code);
    };
    const RankEnd end = check_step(facts, *checks, start, timeout, show);
    return arguments.gate ? end.verdict.value_or(ExitCode::timed_out) : end.own;
}

}  // namespace

Subcommand check_subcommand() {
    const auto arguments = std::make_shared<Arguments>();
    constexpr std::uint32_t longest = 3600;
    return {.name = "check",
            .help =
                "Check whether a job would start: each rank checks its variables, CPUs, GPUs and "
                "network, and connects to rank 0.",
            .options = {{"SPEC", &arguments->spec,
                         "The mode and keys of the tasks, if distgpu did not prepare them"},
                        {.name = "--timeout",
                         .target = &arguments->timeout,
                         .help = "Seconds after which ranks count as missing (default: 20)",
                         .type = "SECONDS",
                         .most = longest},
                        {"--list", &arguments->list, "List the checks without running them"},
                        {"--only", &arguments->only, "Run only these checks, such as gpus,names",
                         "NAMES"},
                        {"--skip", &arguments->skip, "Run all checks except these", "NAMES"},
                        format_option(arguments->format),
                        {"--node", &arguments->node,
                         "Check this node alone, without a job, in 2 s at most: whether it "
                         "works, and has the devices that it had at boot"},
                        {"--gate", &arguments->gate,
                         "One line if all is well, and the same exit status on every "
                         "rank, as --distgpu=MODE,check runs it"},
                        {"--variables", &arguments->variables,
                         "Judge the variables in this file, as in /proc/PID/environ, "
                         "instead of this process's own",
                         "FILE"}},
            .run = [arguments] { return run_check(*arguments); }};
}

}  // namespace distgpu
