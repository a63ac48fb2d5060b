// `distgpu run`: starts a training again when it fails, without the nodes that are lost.
#include "base/format.h"
#include "base/io/files.h"
#include "base/io/programs.h"
#include "base/json_fields.h"
#include "base/values.h"
#include "command_line.h"
#include "mapping/texts/variables.h"
#include "node/machine.h"
#include "node/own_task.h"
#include "output.h"
#include "run/history.h"
#include "run/time_limit.h"
#include "slurm/batch_script.h"
#include "slurm/slurm_queries.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace distgpu {
namespace {

constexpr std::chrono::seconds query_limit{30};

struct Arguments {
    std::optional<std::uint32_t> restarts;
    std::optional<std::uint32_t> spares;
    std::optional<std::uint32_t> before_limit;
    bool requeue = false;
    std::optional<std::uint32_t> requeues;
    std::string progress;
    std::string summary;
    std::vector<std::string> command;
};

// What a later summary shows of an attempt: a line of distgpu-run-JOB.jsonl.
struct LoggedAttempt {
    std::uint32_t attempt = 0;
    std::string began{};
    std::string ended{};
    std::uint32_t seconds = 0;
    std::uint32_t status = 0;
    std::string who{};
    std::string why{};
    std::vector<std::string> left_out{};

    static void fields(auto& io, auto& it) {
        io("attempt", it.attempt, "began", it.began, "ended", it.ended, "seconds", it.seconds,
           "status", it.status, "who", it.who, "why", it.why, "left_out", it.left_out);
    }
};

std::string now_text() {
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    localtime_r(&now, &local);
    std::array<char, 32> text{};
    return {text.data(), std::strftime(text.data(), text.size(), "%FT%T", &local)};
}

// The file to which srun's plugin writes which rank failed first.
class FailureReport {
  public:
    FailureReport() : file_(mkstemp(path_.data())) {
        if (file_.is_open()) setenv(run_report_variable, path_.c_str(), 1);
    }
    ~FailureReport() { unlink(path_.c_str()); }
    FailureReport(const FailureReport&) = delete;
    FailureReport& operator=(const FailureReport&) = delete;

    // What was written since the last call, without "distgpu: ".
    std::string take() {
        std::string text;
        std::array<char, 4096> part{};
        ssize_t got = 0;
        while (file_.is_open() && (got = read(file_.fd(), part.data(), part.size())) > 0) {
            text.append(part.data(), static_cast<std::size_t>(got));
        }
        std::string_view line = text;
        line = cut_until(line, '\n');
        constexpr std::string_view prefix = "distgpu: ";
        if (line.starts_with(prefix)) line.remove_prefix(prefix.size());
        return std::string(line.substr(0, line.find(';')));
    }

  private:
    std::string path_ = "/tmp/distgpu-run-XXXXXX";
    UniqueFd file_;
};

sigset_t awaited_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) {
        sigaddset(&signals, number);
    }
    return signals;
}

// Sends the ranks SIGUSR2 so many seconds before the job's time limit.
class LimitNotice {
  public:
    // `seconds`: 0 for no notice.
    LimitNotice(std::uint32_t seconds, const Environment& environment)
        : seconds_(seconds), environment_(environment) {
        if (seconds_ > 0) look();
    }

    bool was_sent() const { return was_sent_; }
    Deadline due() const { return due_; }

    // When it is due: the limit may have changed meanwhile.
    void act() {
        look();
        if (due_ > Clock::now()) return;
        due_ = Deadline::max();
        was_sent_ = true;
        print_error_line(formatted("distgpu: run: the job ends in {} s", seconds_));
        const auto started =
            start_program({own_program_path(), "signal", own_job(environment_), "USR2"}, {});
        if (started.problem) print_error_line(started.problem->error.message());
    }

  private:
    void look() {
        const auto record = ask_job_record(environment_);
        due_ = Deadline::max();
        if (!record) {
            print_error_line(record.error().message());
        } else if (record->end) {
            due_ = Clock::now() + std::chrono::seconds(*record->end - std::time(nullptr)) -
                   std::chrono::seconds(seconds_);
        }
    }

    std::uint32_t seconds_;
    const Environment& environment_;
    Deadline due_ = Deadline::max();
    bool was_sent_ = false;
};

timespec until(Deadline due) {
    constexpr std::chrono::hours longest{1};
    const auto wait = std::clamp<Clock::duration>(due - Clock::now(), Clock::duration(0), longest);
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(wait);
    return {seconds.count(),
            std::chrono::duration_cast<std::chrono::nanoseconds>(wait - seconds).count()};
}

// Runs srun and passes signals on to it, except those of a terminal, which it gets itself.
AttemptEnd run_attempt(const std::vector<std::string>& words, LimitNotice& notice) {
    const sigset_t signals = awaited_signals();
    const pid_t srun = fork();
    if (srun == 0) {
        sigprocmask(SIG_UNBLOCK, &signals, nullptr);
        const int problem = replace_process(words);
        _exit(problem == ENOENT ? static_cast<int>(ExitCode::not_found)
                                : static_cast<int>(ExitCode::not_executable));
    }
    AttemptEnd end;
    constexpr int signalled = 128;
    int status = 0;
    while (srun > 0 && waitpid(srun, &status, WNOHANG) == 0) {
        siginfo_t info{};
        const timespec wait = until(notice.due());
        const int number = sigtimedwait(&signals, &info, &wait);
        if (Clock::now() >= notice.due()) notice.act();
        if (number <= 0 || number == SIGCHLD) continue;
        end.was_asked_to_end = end.was_asked_to_end || (number != SIGUSR1 && number != SIGUSR2);
        if (info.si_code <= 0) kill(srun, number);
    }
    end.was_notified = notice.was_sent();
    end.status = srun < 0            ? static_cast<int>(ExitCode::environment)
                 : WIFEXITED(status) ? WEXITSTATUS(status)
                                     : signalled + WTERMSIG(status);
    return end;
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

std::vector<std::string> ask_lost_nodes(const Environment& environment) {
    const auto nodes = run_slurm_command(
        environment,
        {"scontrol", "--oneliner", "show", "node", environment.text("SLURM_JOB_NODELIST")},
        query_limit);
    if (nodes) return lost_nodes(*nodes);
    print_error_line(nodes.error().message());
    return {};
}

// Says what would not work, before anything starts.
void warn_before_start(const Arguments& arguments, const Training& training,
                       const Environment& environment) {
    if (training.spares() == 0 && !arguments.requeue) return;
    const auto script = run_slurm_command(
        environment, {"scontrol", "write", "batch_script", environment.text("SLURM_JOB_ID"), "-"},
        query_limit);
    const auto has = [&](const char* option) { return !script || has_option(*script, option); };
    const auto warn = [](const char* option, const char* problem, const char* remedy) {
        print_error_line(Error{option, problem, remedy}.message());
    };
    if (training.spares() > 0 && !has("no-kill")) {
        warn("--spares",
             "the script has no #SBATCH --no-kill, without which a lost node ends the whole job",
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
    const sigset_t signals = awaited_signals();
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    FailureReport report;
    LimitNotice notice(arguments.before_limit.value_or(0), environment);
    std::vector<AttemptEnd> attempts;
    std::vector<std::string> left_out;
    std::string progress = state_of(arguments.progress);
    while (true) {
        setenv("DISTGPU_RESTART", std::to_string(attempts.size()).c_str(), 1);
        LoggedAttempt entry{.attempt = static_cast<std::uint32_t>(attempts.size()),
                            .began = now_text(),
                            .left_out = left_out};
        const auto begin = Clock::now();
        AttemptEnd end = run_attempt(attempt_words(training, left_out), notice);
        end.who = report.take();
        if (end.status != 0) end.lost_nodes = ask_lost_nodes(environment);
        const std::string before = std::exchange(progress, state_of(arguments.progress));
        end.has_progressed = arguments.progress.empty() || progress != before;
        attempts.push_back(end);
        const Decision decision = decide(training, attempts, rules);
        entry.ended = now_text();
        entry.seconds = static_cast<std::uint32_t>(
            std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin).count());
        entry.status = static_cast<std::uint32_t>(end.status);
        entry.who = end.who;
        entry.why = decision.why;
        append_line(log, fields_json(entry).line());
        if (decision.next != NextStep::done) print_error_line("distgpu: run: " + decision.why);
        if (decision.next == NextStep::requeue) {
            const auto requeued = requeue_job(environment, end.lost_nodes);
            if (!requeued) print_error_line(requeued.error().message());
        }
        if (decision.next != NextStep::restart) return static_cast<ExitCode>(end.status);
        left_out = end.lost_nodes;
    }
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
        lines += formatted(
            "attempt {}: {} to {}, {} s, status {}{}: {}\n", entry->attempt,
            printable(entry->began), printable(entry->ended), entry->seconds, entry->status,
            entry->left_out.empty() ? "" : ", without " + printable(join(entry->left_out, ", ")),
            printable(entry->why));
    }
    return print_result(lines, ExitCode::done);
}

ExitCode run_run(const Arguments& arguments) {
    if (!arguments.summary.empty()) return print_summary(arguments.summary);
    const ProcessEnvironment environment;
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
                        {.name = "COMMAND",
                         .target = &arguments->command,
                         .help = "srun, its options, the program"}},
            .run = [arguments] { return run_run(*arguments); }};
}

}  // namespace distgpu
