// `distgpu run`: starts a training again when it fails, without the nodes that are lost.
#include "base/format.h"
#include "base/io/files.h"
#include "base/json_fields.h"
#include "base/values.h"
#include "command_line.h"
#include "mapping/layout/hostlist.h"
#include "node/machine.h"
#include "output.h"
#include "run/history.h"
#include "run/run_attempt.h"
#include "run/slurm_state.h"
#include "slurm/batch_script.h"
#include "slurm/slurm_queries.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>

namespace distgpu {
namespace {

constexpr std::chrono::seconds query_limit{30};
constexpr std::chrono::seconds refusal_pause{5};

struct Arguments {
    std::optional<std::uint32_t> restarts;
    std::optional<std::uint32_t> spares;
    std::optional<std::uint32_t> before_limit;
    bool requeue = false;
    std::optional<std::uint32_t> requeues;
    bool node = false;
    std::string progress;
    std::string summary;
    std::vector<std::string> command;
};

// What a later summary shows of an attempt: a line of distgpu-run-JOB.jsonl.
struct LoggedAttempt {
    std::uint32_t attempt = 0;
    std::uint32_t requeues = 0;  // of the job, before it
    std::string nodes{};
    std::string began{};
    std::string ended{};
    std::uint32_t seconds = 0;
    std::uint32_t pause = 0;  // seconds since the attempt before ended
    std::uint32_t status = 0;
    std::string who{};
    std::string why{};
    std::vector<std::string> left_out{};

    static void fields(auto& io, auto& it) {
        io("attempt", it.attempt, "requeues", it.requeues, "nodes", it.nodes, "began", it.began,
           "ended", it.ended, "seconds", it.seconds, "pause", it.pause, "status", it.status, "who",
           it.who, "why", it.why, "left_out", it.left_out);
    }
};

std::uint32_t whole_seconds(Clock::duration time) {
    return static_cast<std::uint32_t>(
        std::chrono::duration_cast<std::chrono::seconds>(time).count());
}

std::string now_text() {
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    localtime_r(&now, &local);
    std::array<char, 32> text{};
    return {text.data(), std::strftime(text.data(), text.size(), "%FT%T", &local)};
}

// The log is for later; that it cannot be written ends no training.
void append_line(const std::string& path, const std::string& line) {
    constexpr mode_t mode = 0644;
    const UniqueFd file(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, mode));
    if (file.is_open() && write_all(file.fd(), line + '\n')) return;
    print_error_line(Error{path, std::strerror(errno), "run it in a folder of yours"}.message());
}

// Which state the file has; empty if there is no such file.
std::string state_of(const std::string& file) {
    struct stat state {};
    if (file.empty() || stat(file.c_str(), &state) != 0) return "";
    return formatted("{} {} {} {}", state.st_ino, state.st_size, state.st_mtim.tv_sec,
                     state.st_mtim.tv_nsec);
}

// srun's status is 0 if the tasks of the other nodes ended well, or if there were no others
// (22.05).
bool has_lost_nodes(const std::vector<std::string>& nodes, const Environment& environment) {
    const auto lost = ask_lost_nodes(environment);
    return lost && nodes_without(nodes, *lost).size() < nodes.size();
}

// Adds to a failed attempt what Slurm says of the job and its nodes. Waits until slurmctld answers,
// as it may be restarting.
void ask_slurm(AttemptEnd& end, const Training& training, const Environment& environment) {
    constexpr std::chrono::seconds pause{10};
    for (bool is_first = true;; is_first = false) {
        const auto job = ask_job_record(environment);
        auto lost = job ? ask_lost_nodes(environment) : job.error();
        if (lost) {
            end.is_job_ending = !job->is_running;
            end.lost_nodes = *std::move(lost);
            break;
        }
        if (is_first) {
            print_error_line(lost.error().message());
            print_error_line("distgpu: run: waiting for slurmctld");
        }
        if (is_end_requested_within(pause)) {
            end.was_asked_to_end = true;
            return;
        }
    }
    if (end.is_job_ending || end.status == no_restart_status) return;
    const auto silent =
        find_silent_nodes(nodes_without(training.job_nodes, end.lost_nodes), environment);
    end.lost_nodes.insert(end.lost_nodes.end(), silent.begin(), silent.end());
}

void add_reports(AttemptEnd& end, const std::vector<RunReport>& reports) {
    for (const RunReport& report : reports) {
        end.who = report.text;
        (report.is_unfit ? end.unfit_nodes : end.where) = node_names(report.nodes);
    }
}

void requeue(const Environment& environment, const std::vector<std::string>& left_out) {
    constexpr std::chrono::seconds pause{5};
    for (int i = 0; i < 3; ++i) {
        const auto requeued = requeue_job(environment, left_out);
        if (!requeued) print_error_line(requeued.error().message());
        if (requeued || is_end_requested_within(pause)) return;
    }
}

// Says what would not work, before anything starts.
void warn_before_start(const Arguments& arguments, const Training& training,
                       const Environment& environment) {
    if (training.spares() == 0 && !arguments.requeue) return;
    const auto script = run_slurm_command(
        environment, {"scontrol", "write", "batch_script", environment.text("SLURM_JOB_ID"), "-"},
        query_limit);
    const auto has = [&](const char* option) {
        return !script || !script->starts_with("#!") || has_option(*script, option);
    };
    const auto warn = [](const char* option, const char* problem, const char* remedy) {
        print_error_line(Error{option, problem, remedy}.message());
    };
    if (training.spares() > 0 && !has("no-kill")) {
        warn("--spares",
             "the script has no #SBATCH --no-kill; unless sbatch had it, a lost node ends the job",
             "add it");
    }
    if (!arguments.requeue) return;
    const auto record = ask_job_record(environment);
    if (record && !record->may_be_requeued) {
        warn("--requeue", "this job cannot be requeued", "add #SBATCH --requeue");
    }
    if (!has("open-mode")) {
        warn(
            "--requeue",
            "the script has no #SBATCH --open-mode=append, without which a requeue empties the log",
            "add it");
    }
}

ExitCode run_training(const Arguments& arguments, const Training& training,
                      const Environment& environment) {
    Rules rules{.requeues = arguments.requeue,
                .requeued = environment.number("SLURM_RESTART_COUNT").value_or(0)};
    rules.restarts = arguments.restarts.value_or(rules.restarts);
    rules.max_requeues = arguments.requeues.value_or(rules.max_requeues);
    const std::string log = formatted("distgpu-run-{}.jsonl", environment.text("SLURM_JOB_ID"));
    warn_before_start(arguments, training, environment);
    block_signals();
    RunReports reports;
    LimitNotice notice(arguments.before_limit.value_or(0), environment);
    std::vector<AttemptEnd> attempts;
    Decision decision{NextStep::restart};
    std::string progress = state_of(arguments.progress);
    auto ended = Clock::now();
    while (decision.next == NextStep::restart) {
        setenv("DISTGPU_RESTART", std::to_string(attempts.size()).c_str(), 1);
        const auto nodes = attempt_nodes(training, decision.left_out);
        const auto begin = Clock::now();
        const bool has_lost = !attempts.empty() && !attempts.back().lost_nodes.empty();
        LoggedAttempt entry{.attempt = static_cast<std::uint32_t>(attempts.size()),
                            .requeues = rules.requeued,
                            .nodes = HostList::from_names(nodes).to_string(),
                            .began = now_text(),
                            .pause = whole_seconds(begin - ended),
                            .left_out = decision.left_out};
        AttemptEnd end = run_attempt(attempt_words(training, nodes, has_lost), notice);
        ended = Clock::now();
        entry.ended = now_text();
        entry.seconds = whole_seconds(ended - begin);
        add_reports(end, reports.take());
        if (end.status == 0 && has_lost_nodes(nodes, environment)) end.status = 1;
        if (end.status != 0 && !end.was_asked_to_end) ask_slurm(end, training, environment);
        const std::string before = std::exchange(progress, state_of(arguments.progress));
        end.has_progressed = arguments.progress.empty() || progress != before;
        attempts.push_back(end);
        decision = decide(training, attempts, rules);
        entry.status = static_cast<std::uint32_t>(end.status);
        entry.who = end.who;
        entry.why = decision.why;
        append_line(log, fields_json(entry).line());
        if (decision.next != NextStep::done) print_error_line("distgpu: run: " + decision.why);
        // srun started no step, as when slurmctld refuses it: not all restarts within a second.
        const bool was_refused =
            end.status != 0 && end.who.empty() && ended - begin < refusal_pause;
        if (was_refused && decision.next == NextStep::restart &&
            is_end_requested_within(refusal_pause)) {
            break;
        }
    }
    if (decision.next == NextStep::requeue) requeue(environment, decision.left_out);
    return static_cast<ExitCode>(attempts.back().status);
}

ExitCode print_summary(const std::string& file) {
    const auto text = read_regular_file(file);
    if (!text) return report_error(text.error(), ExitCode::usage);
    constexpr std::size_t max_text = 4096;
    std::string lines;
    std::string_view rest = *text;
    while (!rest.empty()) {
        const auto entry = read_fields<LoggedAttempt>(cut_until(rest, '\n'), max_text);
        if (!entry) {
            return report_error({file, "not a log of distgpu run", "name distgpu-run-JOB.jsonl"},
                                ExitCode::usage);
        }
        lines += formatted("attempt {} on {}: {} to {}, {} s, status {}: {}\n", entry->attempt,
                           entry->nodes, entry->began, entry->ended, entry->seconds, entry->status,
                           entry->why);
    }
    return print_result(lines, ExitCode::done);
}

ExitCode run_run(const Arguments& arguments) {
    if (!arguments.summary.empty()) return print_summary(arguments.summary);
    const ProcessEnvironment environment;
    if (arguments.node) return answer_from_node(environment);
    if (arguments.requeue && !arguments.before_limit) {
        return report_error({"--requeue", "it follows the notice of the time limit",
                             "add --before-limit SECONDS, the time that a save takes"},
                            ExitCode::usage);
    }
    const auto training = read_training(arguments.command, environment, arguments.spares);
    if (!training) return report_error(training.error(), ExitCode::usage);
    return run_training(arguments, *training, environment);
}

}  // namespace

Subcommand run_subcommand() {
    const auto arguments = std::make_shared<Arguments>();
    return {.name = "run",
            .help =
                "In a batch script: run a training with srun, and start it again if it fails, "
                "without the nodes that are lost. The program resumes from its checkpoint.",
            .options = {{.name = "--restarts",
                         .target = &arguments->restarts,
                         .help = "How often at most; 3 by default",
                         .value_name = "K",
                         .max = 1000},
                        {.name = "--spares",
                         .target = &arguments->spares,
                         .help = "Nodes of the job that stay free for lost ones; by default those "
                                 "that srun's --nodes leaves",
                         .value_name = "S"},
                        {.name = "--before-limit",
                         .target = &arguments->before_limit,
                         .help = "Send the ranks SIGUSR2 so long before the job's time limit",
                         .value_name = "SECONDS",
                         .max = 65535},
                        {.name = "--requeue",
                         .target = &arguments->requeue,
                         .help = "Then requeue the job, when the training has saved and ended"},
                        {.name = "--requeues",
                         .target = &arguments->requeues,
                         .help = "How often at most; 10 by default",
                         .value_name = "K",
                         .max = 1000},
                        {.name = "--progress",
                         .target = &arguments->progress,
                         .help = "Give up if this file, such as the checkpoint, did not change in "
                                 "two attempts",
                         .value_name = "FILE"},
                        {.name = "--summary",
                         .target = &arguments->summary,
                         .help = "Print what a log, distgpu-run-JOB.jsonl, says, and exit",
                         .value_name = "FILE"},
                        {.name = "--node",
                         .target = &arguments->node,
                         .help = "Internal: run by the extra step on each node"},
                        {.name = "COMMAND",
                         .target = &arguments->command,
                         .help = "srun, its options, the program"}},
            .run = [arguments] { return run_run(*arguments); }};
}

}  // namespace distgpu
