// `distgpu check`: whether the tasks of this step would find each other, their GPUs and the
// network.
#include "base/environment_copy.h"
#include "base/format.h"
#include "base/io/file_text.h"
#include "base/take_until.h"
#include "base/values.h"
#include "check/as_rank0.h"
#include "check/look.h"
#include "check/node_health.h"
#include "check/pairs/node_trial.h"
#include "check/pairs/step_trial.h"
#include "check/variables.h"
#include "mapping/request/request.h"
#include "mapping/spec/parse_spec.h"
#include "meet/agreement.h"
#include "node/machine.h"
#include "node/node_topology.h"
#include "node/own_task.h"
#include "node/process_environment.h"
#include "node/step_variables.h"
#include "node/task_environment.h"
#include "output.h"
#include "subcommands.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

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
    bool gate = false;
    std::string variables;  // a file
    bool node = false;
};

// The right to speak for all ranks of the node, as long as it is held. Closed: another rank has it.
Socket take_word(const OwnTask& own) {
    // The first rank goes first, where it has something to say at all.
    constexpr std::chrono::milliseconds turn{200};
    if (own.place.local != LocalRank{0}) std::this_thread::sleep_for(turn);
    const Meeting meeting = meeting_of(own);
    return listen_for_agreement(
        agreement_name(meeting.step + ".word", own.place.node.value, meeting.secret));
}

// Nobody else will say what a rank found that cannot tell rank 0. Where its whole node cannot, or
// lacks the plugin, one rank speaks for all: its first, where that one cannot either.
void say_undelivered(const CheckFacts& facts, const Report& report, const Error& problem) {
    const OwnTask& own = *facts.own;
    const bool has_own_news = any_fatal(report.findings) && !unanswered_spec(*facts.environment);
    const Socket voice = take_word(own);
    if (!voice.is_open() && !has_own_news) return;
    const auto say = [&](const Error& error) {
        distgpu::say(formatted("distgpu: rank {} on {}: {}: {}; {}", report.rank,
                               own.plan.node_name, error.object, error.problem, error.remedy));
    };
    for (const Finding& finding : report.findings) {
        if (is_fatal(finding)) say(finding.error);
    }
    say({"rank 0 at " + problem.object, problem.problem, problem.remedy});
    // Until the node's others have seen that the word is taken.
    std::this_thread::sleep_for(seconds(1));
}

// After the reports: the trial of the network, and the question who is still there.
constexpr seconds longest_verdict = longest_trial + longest_question;

// How a rank ends by itself, and how the step does.
struct RankEnd {
    ExitCode own = ExitCode::done;
    std::optional<ExitCode> verdict;  // nothing: it did not come
};

std::optional<ExitCode> heard_verdict(const std::optional<std::string>& line) {
    if (!line || !line->starts_with(trial_words::verdict)) return std::nullopt;
    const auto status = whole_number(std::string_view(*line).substr(trial_words::verdict.size()));
    return status ? std::optional(static_cast<ExitCode>(*status)) : std::nullopt;
}

std::optional<ExitCode> hear_rank0(std::optional<TrialPorts> ports, NodeLink& rank0,
                                   OtherRanks& others, Deadline reported) {
    const Deadline deadline = reported + longest_verdict;
    auto line = take_part(std::move(ports), rank0, deadline);
    if (line == trial_words::question) {
        const auto silent = others.ask(Clock::now() + longest_answer);
        rank0.send(std::string(trial_words::answer) + silent_ranks_text(silent), deadline);
        line = rank0.wait_for_line(deadline);
    }
    return heard_verdict(line);
}

// `others`: of its node, where it is the first rank.
RankEnd check_as_other(const CheckFacts& facts, const Checks& checks, seconds timeout,
                       Deadline deadline, OtherRanks* others) {
    const OwnTask& own = *facts.own;
    const Meeting meeting = meeting_of(own);
    Looked looked = look(facts, checks);
    auto ports = looked.trial_host.empty() ? std::nullopt : open_trial_ports(looked.trial_host);
    if (ports) looked.report.trial = to_text(ports->address);
    looked.report.stays = others != nullptr;
    // What it then says has to come before rank 0 ends the step.
    auto rank0 = deliver(looked.report, endpoints_of(own), meeting, deadline - timeout / 10);
    if (!rank0) {
        say_undelivered(facts, looked.report, rank0.error());
        return {ExitCode::timed_out, std::nullopt};
    }
    RankEnd end;
    if (any_fatal(looked.report.findings)) end.own = ExitCode::check_failed;
    if (others != nullptr) end.verdict = hear_rank0(std::move(ports), *rank0, *others, deadline);
    return end;
}

// It reported, and was told nothing.
bool lacks_verdict(const RankEnd& end) {
    return end.own != ExitCode::timed_out && !end.verdict;
}

// What it waited for: nobody else may know.
void say_silent(const OwnTask& own, GlobalRank silent) {
    const StepLayout& layout = own.place.layout;
    const NodeIndex node = layout.place(silent).node;
    // Many ranks wait for the same one. The next after it speaks, whose end ends the step; the
    // others only if that one is silent too.
    const std::uint32_t rank0_node = layout.place(GlobalRank{0}).node.value;
    const bool speaks_first = own.place.local == LocalRank{0}
                                  ? own.place.node.value == (rank0_node == 0 ? 1 : 0)
                                  : own.place.local == LocalRank{1};
    if (!speaks_first) std::this_thread::sleep_for(seconds(2));
    const std::string& name = layout.hosts().name(node);
    distgpu::say(
        formatted("distgpu: check: rank {} on {}: rank {} on {} did not answer; see that node's "
                  "load and its kernel log (dmesg), or leave it out with --exclude={}",
                  own.task().rank.value, own.plan.node_name, silent.value, name, name));
}

// No rank ends before all is told: where KillOnBadExit is set, the first end ends the others. A
// node's other ranks hear the verdict from its first.
RankEnd agree_as_first(const OwnTask& own, const std::function<RankEnd(OtherRanks&)>& check) {
    const Meeting meeting = meeting_of(own);
    const NodeIndex node = own.place.node;
    const StepLayout& layout = own.place.layout;
    std::set<std::uint32_t> ranks;
    for (std::uint32_t local = 1; local < layout.tasks_on(node); ++local) {
        ranks.insert(layout.rank(node, LocalRank{local}).value);
    }
    OtherRanks others(
        listen_for_agreement(agreement_name(meeting.step, node.value, meeting.secret)),
        std::move(ranks));
    const RankEnd end = check(others);
    if (lacks_verdict(end)) say_silent(own, GlobalRank{0});
    const int status = static_cast<int>(end.verdict.value_or(ExitCode::timed_out));
    // They have reported, and come at once; one that is missing may never come.
    others.announce(status, Clock::now() + seconds(3));
    return end;
}

RankEnd agree_as_other(const OwnTask& own, RankEnd end, Deadline deadline) {
    if (end.own == ExitCode::timed_out) return end;
    const Meeting meeting = meeting_of(own);
    const NodeIndex node = own.place.node;
    const std::string name = agreement_name(meeting.step, node.value, meeting.secret);
    // The first rank hears it, or says that it does not, before.
    const auto status = await_verdict(name, own.task().rank.value, deadline,
                                      deadline + longest_verdict + seconds(2));
    if (status) end.verdict = static_cast<ExitCode>(*status);
    if (lacks_verdict(end)) say_silent(own, own.place.layout.rank(node, LocalRank{0}));
    return end;
}

ExitCode show(const Verdict& verdict, const Arguments& arguments) {
    if (arguments.gate) return print_or_complain(verdict_brief(verdict), verdict.code);
    return print_or_complain(
        arguments.format == "json" ? verdict_json(verdict) : verdict_text(verdict, wants_colour()),
        verdict.code);
}

ExitCode check_as_own_rank(const CheckFacts& facts, const Checks& checks,
                           const Arguments& arguments, Clock::time_point start) {
    const OwnTask& own = *facts.own;
    const seconds timeout(arguments.timeout);
    const auto as_rank0 = [&](OtherRanks& others) {
        const auto ask = [&] { return others.ask(Clock::now() + longest_answer); };
        const auto told = [&](const Verdict& verdict) { return show(verdict, arguments); };
        const ExitCode code = check_as_rank0(facts, checks, start, timeout, ask, told);
        return RankEnd{code, code};
    };
    const auto as_other = [&](OtherRanks* others) {
        return check_as_other(facts, checks, timeout, start + timeout, others);
    };
    RankEnd end;
    if (own.place.local != LocalRank{0}) {
        end = agree_as_other(own, as_other(nullptr), start + timeout);
    } else if (own.task().rank == GlobalRank{0}) {
        end = agree_as_first(own, as_rank0);
    } else {
        end = agree_as_first(own, [&](OtherRanks& others) { return as_other(&others); });
    }
    return arguments.gate ? end.verdict.value_or(ExitCode::timed_out) : end.own;
}

// What the checks judge: the variables of a file, as of /proc/PID/environ, else this process's own.
Result<std::shared_ptr<const Environment>> judged_variables(const std::string& path) {
    if (path.empty()) return std::shared_ptr<const Environment>(new ProcessEnvironment);
    return read_file(path, "name a file such as /proc/PID/environ")
        .transform([](const std::string& text) {
            auto variables = std::make_shared<EnvironmentCopy>();
            for (std::string_view rest = text; !rest.empty();) {
                const std::string_view variable = take_until(rest, '\0');
                const std::size_t end = variable.find('=');
                if (end == std::string_view::npos) continue;
                variables->set(std::string(variable.substr(0, end)),
                               std::string(variable.substr(end + 1)));
            }
            return std::shared_ptr<const Environment>(std::move(variables));
        });
}

// The SPEC of the command line, else that by which the task was prepared, or should have been.
Result<Request> wanted(const Arguments& arguments, const Environment& environment) {
    if (!arguments.spec.empty()) return parse_spec("", arguments.spec);
    if (const auto spec = prepared_spec(environment)) return parse_spec("--distgpu", *spec);
    if (const auto spec = unanswered_spec(environment)) return parse_spec("--distgpu", *spec);
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
    const seconds timeout(arguments.timeout);
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
    const CheckFacts facts =
        facts_of(std::make_shared<const OwnTask>(**std::move(planned)), *judged, look_deadline);
    return check_as_own_rank(facts, *checks, arguments, start);
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
                         .words = {"text", "json"}},
                        {.name = "--node",
                         .target = &arguments->node,
                         .help = "Check this node alone, without a job, in 2 s at most: whether it "
                                 "has the devices that it had at boot"},
                        {.name = "--gate",
                         .target = &arguments->gate,
                         .help = "One line if all is well, and the same exit status on every "
                                 "rank, as --distgpu=MODE,check runs it"},
                        {.name = "--variables",
                         .target = &arguments->variables,
                         .help = "Judge the variables in this file, as in /proc/PID/environ, "
                                 "instead of this process's own",
                         .type = "FILE"}},
            .run = [arguments] { return run_check(*arguments); }};
}

}  // namespace distgpu
