// `distgpu check`: checks whether the tasks of this step would reach each other, their GPUs and the
// network.
#include "base/environment.h"
#include "base/format.h"
#include "base/io/files.h"
#include "base/values.h"
#include "check/net_plugin.h"
#include "check/step_check.h"
#include "command_line.h"
#include "mapping/request/request.h"
#include "mapping/spec/parse_spec.h"
#include "node/machine.h"
#include "node/node_topology.h"
#include "node/own_task.h"
#include "node/run_report.h"
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
    bool in_container = false;
    std::string plugin;  // to load in this process
    bool tuner = false;  // what kind of plugin that is
    bool node = false;
};

// The variables that are checked: those in a file such as /proc/PID/environ, or by default this
// process's own.
Result<std::shared_ptr<const Environment>> checked_environment(const std::string& path) {
    if (path.empty()) return std::shared_ptr<const Environment>(new ProcessEnvironment);
    return read_file(path, "name a file such as /proc/PID/environ")
        .transform([](const std::string& text) -> std::shared_ptr<const Environment> {
            return std::make_shared<EnvironmentCopy>(EnvironmentCopy::from_block(text));
        });
}

// From the SPEC of the command line, or the spec with which the task was prepared, or should have
// been.
Result<Request> read_request(const Arguments& arguments, const Environment& environment) {
    if (!arguments.spec.empty()) return parse_spec("", arguments.spec);
    auto spec = prepared_spec(environment);
    if (!spec) spec = spec_without_plugin(environment);
    if (spec) return parse_spec("--distgpu", *spec);
    return Error{"distgpu check", "distgpu did not prepare this process, so its mode is unknown",
                 "start it with srun --distgpu=MODE distgpu check, or name the mode: srun distgpu "
                 "check MODE"};
}

// Slurm's commands run with this process's environment, not with the checked variables.
Result<ProcessPlace> place_in_slurm(const Environment& environment) {
    auto place = find_process_place(environment, host_name(), layout_query(ProcessEnvironment()));
    if (!place || place->launcher == Launcher::slurm) return place;
    return Error{"distgpu check", "this process is not a task of srun",
                 "start it with srun --distgpu=MODE distgpu check"};
}

// For an error that stops all ranks: only one prints it.
ExitCode report_on_rank0(const Environment& environment, const Error& error, ExitCode code) {
    return environment.get("SLURM_PROCID").value_or("0") == "0" ? report_error(error, code) : code;
}

// If the node has not loaded the plugin, its first task prints the error, because tasks of other
// nodes may continue.
ExitCode report_without_place(const Environment& environment, const Error& error) {
    if (!spec_without_plugin(environment)) {
        return report_on_rank0(environment, error, ExitCode::environment);
    }
    if (environment.get("SLURM_LOCALID").value_or("0") != "0") return ExitCode::environment;
    Error plugin = missing_plugin_error(environment);
    plugin.object = formatted("{} on {}", plugin.object, host_name());
    return report_error(plugin, ExitCode::environment);
}

// Prints one line, which Slurm uses as the reason to drain the node.
ExitCode check_node() {
    const auto faults = check_own_node(default_topology_file);
    if (!faults) return report_error(faults.error(), ExitCode::environment);
    const std::string text = faults->empty() ? "all devices are as they were at boot" : *faults;
    return print_result(formatted("{}: {}\n", short_host_name(), text),
                        faults->empty() ? ExitCode::done : ExitCode::check_failed);
}

ExitCode run_check(const Arguments& arguments) {
    if (arguments.list) return print_result(list_of_checks(), ExitCode::done);
    if (arguments.node) return check_node();
    if (!arguments.plugin.empty()) {
        return load_plugin(arguments.plugin, arguments.tuner ? PluginKind::tuner : PluginKind::net);
    }

    const Deadline start = Clock::now();
    const std::chrono::seconds timeout(arguments.timeout);
    const Deadline local_deadline = start + timeout / 2;
    const auto checked = checked_environment(arguments.variables);
    if (!checked) return report_error(checked.error(), ExitCode::usage);
    const Environment& environment = **checked;
    const auto checks = choose_checks(arguments.only, arguments.skip);
    if (!checks) return report_on_rank0(environment, checks.error(), ExitCode::usage);
    auto place = place_in_slurm(environment);
    if (!place) return report_without_place(environment, place.error());
    auto request = read_request(arguments, environment);
    if (!request) return report_on_rank0(environment, request.error(), ExitCode::usage);
    if (request->framework == nullptr) {
        return report_on_rank0(environment,
                               {arguments.spec.empty() ? "--distgpu=off" : arguments.spec,
                                "no mode", "see distgpu vars help"},
                               ExitCode::usage);
    }
    if (const auto ordered = order_nodes(*request, *place, ProcessEnvironment()); !ordered) {
        return report_on_rank0(environment, ordered.error(), ExitCode::check_failed);
    }
    if (const auto error = find_refusal(*request, *place, environment)) {
        return report_on_rank0(environment, *error, ExitCode::check_failed);
    }
    const std::string name = host_name();
    auto planned =
        call_within(local_deadline, [request = *request, place = *place, checked = *checked] {
            return plan_own_task(request, place, *checked);
        });
    if (!planned) {
        return report_error({name, "looking up names and devices did not finish",
                             "check /etc/resolv.conf and the kernel log (dmesg) there"},
                            ExitCode::timed_out);
    }
    if (!*planned) return report_error(planned->error(), ExitCode::check_failed);
    const CheckFacts facts{std::make_shared<const OwnTask>(**std::move(planned)), *checked,
                           own_cpus(), local_deadline, arguments.in_container};
    const auto print_verdict = [&](const Verdict& verdict) {
        if (arguments.gate && verdict.code != ExitCode::done) {
            send_run_report(
                read_srun_address(ProcessEnvironment()),
                {"check: " + reason_not_ready(verdict), verdict.exclude.to_string(), true});
        }
        return print_result(arguments.gate ? verdict_brief(verdict)
                            : arguments.format == "json"
                                ? verdict_json(verdict)
                                : verdict_text(verdict, has_colour_output()),
                            verdict.code);
    };
    const RankExit result = check_step(facts, *checks, start, timeout, print_verdict);
    return arguments.gate ? result.step_code.value_or(ExitCode::timed_out) : result.rank_code;
}

}  // namespace

Subcommand check_subcommand() {
    const auto arguments = std::make_shared<Arguments>();
    constexpr std::uint32_t max_timeout = 3600;
    return {.name = "check",
            .help =
                "Check whether a job would start: each rank checks its variables, CPUs, GPUs and "
                "network, and connects to rank 0.",
            .options = {{"SPEC", &arguments->spec,
                         "The mode and keys of the tasks, if distgpu did not prepare them"},
                        {.name = "--timeout",
                         .target = &arguments->timeout,
                         .help = "Seconds after which ranks count as missing (default: 20)",
                         .value_name = "SECONDS",
                         .max = max_timeout},
                        {"--list", &arguments->list, "List the checks without running them"},
                        {"--only", &arguments->only, "Run only these checks, such as gpus,names",
                         "NAMES"},
                        {"--skip", &arguments->skip, "Run all checks except these", "NAMES"},
                        format_option(arguments->format),
                        {"--node", &arguments->node,
                         "Check this node alone, without a job, in 2 s at most: whether it "
                         "works, and has the devices that it had at boot"},
                        {"--gate", &arguments->gate,
                         "Print one line if all is well, and exit with the same status on every "
                         "rank, as the check of --distgpu=MODE,check does"},
                        {"--variables", &arguments->variables,
                         "Check the variables in this file, such as /proc/PID/environ, "
                         "instead of this process's own",
                         "FILE"},
                        {"--in-container", &arguments->in_container,
                         "Internal: these variables are of a task in a container"},
                        {"--load-plugin", &arguments->plugin,
                         "Internal: only load this plugin of NCCL, and print its name", "FILE"},
                        {"--tuner", &arguments->tuner, "Internal: that plugin tunes NCCL"}},
            .run = [arguments] { return run_check(*arguments); }};
}

}  // namespace distgpu
