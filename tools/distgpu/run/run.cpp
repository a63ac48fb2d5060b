// `distgpu run`: starts a training again when it fails, without the nodes that are lost.
#include "base/format.h"
#include "base/io/files.h"
#include "base/io/programs.h"
#include "base/json_fields.h"
#include "base/values.h"
#include "command_line.h"
#include "mapping/texts/variables.h"
#include "node/machine.h"
#include "output.h"
#include "run/history.h"
#include "slurm/batch_script.h"
#include "slurm/slurm_queries.h"

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

// Runs srun and passes signals on to it, except those of a terminal, which it gets itself.
AttemptEnd run_attempt(const std::vector<std::string>& words) {
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
        const int number = sigwaitinfo(&signals, &info);
        if (number <= 0 || number == SIGCHLD) continue;
        end.was_asked_to_end = end.was_asked_to_end || (number != SIGUSR1 && number != SIGUSR2);
        if (info.si_code <= 0) kill(srun, number);
    }
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
void warn_before_start(const Training& training, const Environment& environment) {
    if (training.spares() == 0) return;
    const auto script = run_slurm_command(
        environment, {"scontrol", "write", "batch_script", environment.text("SLURM_JOB_ID"), "-"},
        query_limit);
    if (!script || keeps_job_without_nodes(*script)) return;
    print_error_line(Error{"--spares", "without #SBATCH --no-kill a lost node ends the whole job",
                           "add it to the batch script"}
                         .message());
}

ExitCode run_training(const Arguments& arguments, const Training& training,
                      const Environment& environment) {
    const std::uint32_t restarts = arguments.restarts.value_or(3);
    const std::string log =
        formatted("distgpu-run-{}.jsonl", environment.text("SLURM_JOB_ID"));
    warn_before_start(training, environment);
    const sigset_t signals = awaited_signals();
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    FailureReport report;
    std::vector<AttemptEnd> attempts;
    std::vector<std::string> left_out;
    std::string progress = state_of(arguments.progress);
    while (true) {
        setenv("DISTGPU_RESTART", std::to_string(attempts.size()).c_str(), 1);
        LoggedAttempt entry{.attempt = static_cast<std::uint32_t>(attempts.size()),
                            .began = now_text(),
                            .left_out = left_out};
        const auto begin = Clock::now();
        AttemptEnd end = run_attempt(attempt_words(training, left_out));
        end.who = report.take();
        if (end.status != 0) end.lost_nodes = ask_lost_nodes(environment);
        const std::string before = std::exchange(progress, state_of(arguments.progress));
        end.has_progressed = arguments.progress.empty() || progress != before;
        attempts.push_back(end);
        const Decision decision = decide(training, attempts, restarts);
        entry.ended = now_text();
        entry.seconds = static_cast<std::uint32_t>(
            std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin).count());
        entry.status = static_cast<std::uint32_t>(end.status);
        entry.who = end.who;
        entry.why = decision.why;
        append_line(log, fields_json(entry).line());
        if (decision.next != NextStep::done) print_error_line("distgpu: run: " + decision.why);
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
