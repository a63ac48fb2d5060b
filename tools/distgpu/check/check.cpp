// `distgpu check`: whether the tasks of this step would find each other, their GPUs and the
// network.
#include "base/format.h"
#include "check/gather.h"
#include "check/look.h"
#include "check/network.h"
#include "check/ports.h"
#include "check/variables.h"
#include "check/verdict.h"
#include "mapping/spec/request.h"
#include "node/machine.h"
#include "node/process_environment.h"
#include "node/step_secret.h"
#include "node/task_environment.h"
#include "output.h"
#include "subcommands.h"
#include "task/own_task.h"
#include "task/sent_step.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

using std::chrono::seconds;

struct Arguments {
    std::string spec;
    std::uint32_t timeout = 20;  // seconds
    bool list = false;
    std::optional<std::string> only;
    std::optional<std::string> skip;
    std::string format = "text";
};

// Beside the rendezvous, where that fails: known to all ranks whatever their variables say. The
// last of the 16 ports that job and step are dealt, where hardly any framework listens.
std::uint16_t spare_port(const StepId& step) {
    constexpr std::uint16_t last_of_slot = 15;
    return static_cast<std::uint16_t>(derived_port(step, default_ports, 1) + last_of_slot);
}

std::vector<Endpoint> endpoints_of(const OwnTask& own) {
    const Rendezvous& rendezvous = own.plan.rendezvous;
    const StepLayout& layout = own.place.layout;
    const std::uint16_t spare = spare_port(own.place.step);
    return {{rendezvous.address, rendezvous.port},
            {layout.hosts().name(rank0_node(layout)), spare},
            {rendezvous.address, spare}};
}

CheckedStep checked_step(const OwnTask& own) {
    return {formatted("{}.{}", own.place.step.job, own.place.step.step),
            handed_secret(ProcessEnvironment())};
}

// Rank 0's ears: on the rendezvous port as its framework would listen, and on the spare one.
struct Ears {
    std::vector<Socket> listeners;
    Findings findings;
};

Ears listen_as_rank0(const OwnTask& own) {
    Ears ears;
    const std::uint16_t port = own.plan.rendezvous.port;
    if (auto listener = listen_on(port)) {
        ears.listeners.push_back(*std::move(listener));
    } else {
        ears.findings.push_back({Finding::Weight::fatal,
                                 {formatted("port {} on {}", port, own.plan.node_name),
                                  listener.error().problem, taken_port_remedy(own)}});
    }
    if (auto spare = listen_on(spare_port(own.place.step))) {
        ears.listeners.push_back(*std::move(spare));
    }
    return ears;
}

// The address of the rendezvous leads elsewhere on that rank's node.
bool knows_why(const Report& report, const Rendezvous& rendezvous) {
    return std::any_of(report.findings.begin(), report.findings.end(), [&](const Finding& finding) {
        return is_fatal(finding) && finding.error.object == address_object(rendezvous);
    });
}

ExitCode check_as_rank0(const CheckFacts& facts, const Checks& checks, seconds timeout,
                        Deadline deadline, const std::string& format) {
    const std::shared_ptr<const OwnTask>& own = facts.own;
    // Before it looks at anything: the others are on their way.
    const Ears ears = listen_as_rank0(*own);
    std::vector<Report> reports{look(facts, checks)};
    Findings& findings = reports.front().findings;
    findings.insert(findings.begin(), ears.findings.begin(), ears.findings.end());
    const StepLayout& layout = own->place.layout;
    Gathered gathered = gather(ears.listeners, checked_step(*own), layout.task_count(), deadline);
    const Findings said = findings_of(gathered, reports.front().rendezvous);
    findings.insert(findings.end(), said.begin(), said.end());
    for (Report& other : gathered.reports) {
        // No news where nobody listened, where the rank was told of another place, or where it has
        // found out why itself.
        const bool same_place = other.rendezvous == reports.front().rendezvous;
        if (other.unreached && ears.findings.empty() && same_place &&
            !knows_why(other, own->plan.rendezvous)) {
            other.findings.push_back({Finding::Weight::fatal, *other.unreached});
        }
        reports.push_back(std::move(other));
    }
    const Verdict verdict =
        verdict_of(own->request.framework->mode, layout, reports, timeout, checks);
    return print_or_complain(
        format == "json" ? verdict_json(verdict) : verdict_text(verdict, wants_colour()),
        verdict.code);
}

// Nobody else will say what a rank found that cannot tell rank 0. Where its whole node cannot, or
// lacks the plugin, its first rank speaks for all.
void say_undelivered(const OwnTask& own, const Report& report, const Error& problem) {
    const bool has_own_news = any_fatal(report.findings) && !unanswered_spec(ProcessEnvironment());
    if (own.place.local != LocalRank{0} && !has_own_news) return;
    const auto say = [&](const Error& error) {
        distgpu::say(formatted("distgpu: rank {} on {}: {}: {}; {}", report.rank,
                               own.plan.node_name, error.object, error.problem, error.remedy));
    };
    for (const Finding& finding : report.findings) {
        if (is_fatal(finding)) say(finding.error);
    }
    say({"rank 0 at " + problem.object, problem.problem, problem.remedy});
}

ExitCode check_as_other(const CheckFacts& facts, const Checks& checks, Deadline deadline) {
    const std::shared_ptr<const OwnTask>& own = facts.own;
    const Report report = look(facts, checks);
    const auto problem = deliver(report, endpoints_of(*own), checked_step(*own), deadline);
    if (!problem) return any_fatal(report.findings) ? ExitCode::check_failed : ExitCode::done;
    say_undelivered(*own, report, *problem);
    return ExitCode::timed_out;
}

// The SPEC of the command line, else that by which the task was prepared, or should have been.
Result<Request> wanted(const Arguments& arguments, const Environment& environment) {
    if (!arguments.spec.empty()) return parse_spec("SPEC", arguments.spec);
    if (const auto spec = prepared_spec(environment)) return parse_spec("SPEC", *spec);
    if (const auto spec = unanswered_spec(environment)) return parse_spec("SPEC", *spec);
    return Error{"distgpu check", "distgpu did not prepare this process, so its mode is unknown",
                 "start it with srun --distgpu=MODE distgpu check, or name the mode: srun distgpu "
                 "check MODE"};
}

Result<Place> place_in_slurm(const Environment& environment) {
    auto place = find_place(environment, host_name(), ask_slurm(environment));
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

ExitCode run_check(const Arguments& arguments) {
    if (arguments.list) return print_or_complain(list_of_checks(), ExitCode::done);

    const Deadline start = Clock::now();
    const seconds timeout(arguments.timeout);
    const Deadline look_deadline = start + timeout / 2;
    const ProcessEnvironment environment;
    const auto checks = choose_checks(arguments.only, arguments.skip);
    if (!checks) return stop(environment, checks.error(), ExitCode::usage);
    auto place = place_in_slurm(environment);
    if (!place) return stop_unplaced(environment, place.error());
    auto request = wanted(arguments, environment);
    if (!request) return stop(environment, request.error(), ExitCode::usage);
    if (request->framework == nullptr) {
        return stop(environment, {"SPEC=" + arguments.spec, "no mode", "see distgpu vars help"},
                    ExitCode::usage);
    }
    if (const auto error = refused(*request, *place, environment)) {
        return stop(environment, *error, ExitCode::check_failed);
    }
    const std::string name = host_name();
    auto planned = within(look_deadline, [request = *request, place = *place] {
        return plan_own_task(request, place, ProcessEnvironment());
    });
    if (!planned) {
        return complain({name, "looking up names and devices did not finish",
                         "check /etc/resolv.conf and the kernel log (dmesg) there"},
                        ExitCode::timed_out);
    }
    if (!*planned) return complain(planned->error(), ExitCode::check_failed);
    const CheckFacts facts =
        facts_of(std::make_shared<const OwnTask>(**std::move(planned)), look_deadline);
    return facts.own->task().rank == GlobalRank{0}
               ? check_as_rank0(facts, *checks, timeout, start + timeout, arguments.format)
               : check_as_other(facts, *checks, start + timeout);
}

}  // namespace

Subcommand check_subcommand() {
    const auto arguments = std::make_shared<Arguments>();
    constexpr std::uint32_t longest = 3600;
    return {.name = "check",
            .help =
                "Check whether a job would start: each rank checks its variables, CPUs, GPUs and "
                "network, and connects to rank 0.",
            .options = {{.name = "SPEC",
                         .target = &arguments->spec,
                         .help = "The mode and keys of the tasks, if distgpu did not prepare them"},
                        {.name = "--timeout",
                         .target = &arguments->timeout,
                         .help = "Seconds after which ranks count as missing (default: 20)",
                         .type = "SECONDS",
                         .most = longest},
                        {.name = "--list",
                         .target = &arguments->list,
                         .help = "List the checks without running them"},
                        {.name = "--only",
                         .target = &arguments->only,
                         .help = "Run only these checks, such as gpus,names",
                         .type = "NAMES"},
                        {.name = "--skip",
                         .target = &arguments->skip,
                         .help = "Run all checks except these",
                         .type = "NAMES"},
                        {.name = "--format",
                         .target = &arguments->format,
                         .help = "text (the default) or json",
                         .type = "FORMAT",
                         .words = {"text", "json"}}},
            .run = [arguments] { return run_check(*arguments); }};
}

}  // namespace distgpu
